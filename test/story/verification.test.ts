/**
 * The built controller and registries on loopback: one that knows some passwords, and one that
 * hangs. The API server is simulated, and so are the nodes.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { respond, serve } from "#registry/server.fixture.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { until } from "../cluster/await.ts";
import { startOnce } from "../controller/plane/process.ts";
import { directly } from "../harness/api/direct.ts";
import { install } from "../harness/api/installed.ts";
import { FakeServer } from "../harness/api/server.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import { temporary } from "../temporary.ts";

const administrator = { manager: "administrator", force: true };
const basic = (pair: string) => Buffer.from(pair).toString("base64");

/** A registry that accepts these passwords of the user robot. */
const registryOf = (passwords: ReadonlySet<string>) =>
  serve(({ authorization }, response) => {
    const accepted = [...passwords].map((password) => `Basic ${basic(`robot:${password}`)}`);
    respond(response, accepted.includes(authorization) ? 200 : 401, {
      "www-authenticate": "Basic",
    });
  });

type Entries = Readonly<Record<string, string>>;

/** A controller with this spec on a cluster of one node. */
async function start(t: TestContext, verification: GlobalPullSecretSpec["verification"]) {
  await freshBundle();
  const server = await FakeServer.start();
  t.after(() => server[Symbol.asyncDispose]());
  const api = server.api("verified");
  install(api);
  const kubeconfig = join(temporary(t), "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig("verified"), { mode: 0o600 });
  const nodes = new NodesDriver(directly(api, "nodes"), { daemonSets: true }).start();
  t.after(() => nodes[Symbol.asyncDispose]());
  await nodes.add("node-a");
  const admin = directly(api, "administrator");
  await admin.apply(
    globalPullSecretPath,
    {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata: { name: "cluster" },
      spec: { rollout: { probation: "3s" }, verification },
    },
    administrator,
  );
  const controller = startOnce(kubeconfig);
  t.after(() => controller[Symbol.asyncDispose]());
  const status = async () => (await admin.get<GlobalPullSecret>(globalPullSecretPath))?.status;
  const published = async () => {
    const { data = {} } = (await admin.get<V1Secret>(owned.global)) ?? {};
    return data[".dockerconfigjson"] ?? "nothing";
  };
  return {
    controller,
    status,
    declare: (entries: Entries) => {
      const auths = Object.entries(entries).map(([host, password]) => [
        host,
        { auth: basic(`robot:${password}`) },
      ]);
      const document = JSON.stringify({ auths: Object.fromEntries(auths) });
      return admin.apply(
        `${collections.secrets}/additional-pull-secret`,
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "additional-pull-secret" },
          type: "kubernetes.io/dockerconfigjson",
          data: { ".dockerconfigjson": basic(document) },
        },
        administrator,
      );
    },
    published,
    condition: async (type: string) => {
      const { conditions = [] } = (await status()) ?? {};
      const condition = conditions.find((candidate) => candidate.type === type);
      return `${condition?.status} ${condition?.reason}`;
    },
    verified: async () => (await status())?.registries?.map(({ verified }) => verified).join(),
  };
}

test("with Warn, publishes a denied credential, and reports it until the registry accepts it", async (t) => {
  const passwords = new Set<string>();
  await using registry = await registryOf(passwords);
  const on = await start(t, { mode: "Warn" });
  await on.declare({ [registry.host]: "one" });
  await until("it is denied", async () => (await on.verified()) === "Denied");
  assert.equal(await on.condition("CredentialsVerified"), "False CredentialsDenied");
  assert.notEqual(await on.published(), "nothing");
  passwords.add("two");
  await on.declare({ [registry.host]: "two" });
  await until("it is accepted", async () => (await on.verified()) === "Accepted");
  assert.equal(await on.condition("CredentialsVerified"), "True NoneDenied");
  assert.ok((await on.status())?.registries?.[0]?.verifiedAt);
  const output = on.controller.output();
  for (const secret of ["robot", basic("robot:one")]) assert.ok(!output.includes(secret), output);
});

test("with Refuse, publishes only what its registry accepted, and does not wait for one that hangs", async (t) => {
  const passwords = new Set(["one"]);
  await using registry = await registryOf(passwords);
  await using hanging = await serve(() => {});
  const on = await start(t, { mode: "Refuse" });
  await on.declare({ [registry.host]: "wrong" });
  await until(
    "it is refused",
    async () => (await on.condition("Ready")) === "False SourceRejected",
  );
  assert.equal(await on.published(), "nothing");
  const [source] = (await on.status())?.sources ?? [];
  assert.match(source?.message ?? "", /^GPS341 .*answers 401; .*none of its entries are in force/);

  await on.declare({ [registry.host]: "one" });
  await until("it is published", async () => (await on.published()) !== "nothing");
  const first = await on.published();
  await on.declare({ [registry.host]: "wrong" });
  await until(
    "it is refused",
    async () => (await on.condition("Ready")) === "False SourceRejected",
  );
  assert.equal(await on.published(), first);

  await on.declare({ [registry.host]: "one", [hanging.host]: "x" });
  await until(
    "it is being verified",
    async () => (await on.condition("Ready")) === "False Verifying",
  );
  assert.equal(await on.published(), first);
  await until("it is published", async () => (await on.published()) !== first);
  assert.equal(await on.condition("CredentialsVerified"), "True NoneDenied");
});

test("with Off, asks no registry", async (t) => {
  await using registry = await registryOf(new Set());
  const on = await start(t, { mode: "Off" });
  await on.declare({ [registry.host]: "one" });
  await until("it is reported", async () => (await on.verified()) === "");
  assert.notEqual(await on.published(), "nothing");
  assert.deepEqual(registry.asked, []);
});
