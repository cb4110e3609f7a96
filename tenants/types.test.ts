/** Checks that each type arrives, and that a named Secret is followed. The servers are fakes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { pino } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { Engine } from "./engine.ts";
import { syncSecretsIn } from "./objects.ts";
import { managementSide, tenantSide } from "./side.ts";

const quiet = pino({ level: "silent" });
const definition = readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8");
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Both clusters, and both sides. `settle` lets this many seconds pass, then runs both. */
function pairOf(t: TestContext) {
  const apis = [new FakeApi(), new FakeApi()] as const;
  for (const api of apis) api.store.define(definition);
  const [here, there] = [directly(apis[0], "tenant"), directly(apis[1], "management")];
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const engines = [
    new Engine(tenantSide({ home: here, management: there, namespace: "a" }), quiet, {
      looked() {},
    }),
    new Engine(managementSide(there, "a"), quiet, { looked() {} }),
  ];
  const create = async (fields: object): Promise<SyncSecret> =>
    await here.create<SyncSecret>(syncSecretsIn("default"), {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "SyncSecret",
      metadata: { name: "one", namespace: "default" },
      ...fields,
    });
  return {
    home: apis[0],
    management: apis[1],
    here,
    create,
    object: () => apis[0].object<SyncSecret>(`${syncSecretsIn("default")}/one`),
    secret: () => {
      const name = apis[0].object<SyncSecret>(`${syncSecretsIn("default")}/one`)?.status
        ?.secretName;
      return apis[1].object<V1Secret>(`${secretsIn("a")}/${name}`);
    },
    settle: async (seconds = 0) => {
      now += seconds * 1000;
      for (let run = 0; run < 4; run += 1) for (const engine of engines) await engine.run();
    },
  };
}

for (const [type, arrives, data] of [
  ["example.com/custom", "example.com/custom", { a: "eA==" }],
  ["kubernetes.io/dockercfg", "kubernetes.io/dockercfg", { ".dockercfg": base64("{}") }],
  ["kubernetes.io/service-account-token", "Opaque", { token: "eA==" }],
  ["bootstrap.kubernetes.io/token", "Opaque", { token: "eA==" }],
] as const)
  test(`L13: a Secret of type ${type} arrives with type ${arrives}`, async (t) => {
    const { create, secret, settle } = pairOf(t);
    await create({ type, data });
    await settle();
    assert.deepEqual([secret()?.type, secret()?.data], [arrives, data]);
  });

test("L10: follows a Secret that the SyncSecret names, within a minute", async (t) => {
  const { here, create, secret, settle } = pairOf(t);
  const path = `${secretsIn("default")}/tls`;
  const metadata = { name: "tls", namespace: "default" };
  const body = { apiVersion: "v1", kind: "Secret", metadata, type: "example.com/t" };
  await here.create(secretsIn("default"), { ...body, data: { a: "MQ==" } });
  await create({ type: "example.com/t", secretRef: { name: "tls" } });
  await settle();
  assert.deepEqual(secret()?.data, { a: "MQ==" });
  const how = { manager: "cert-manager", force: true };
  await here.apply(path, { ...body, data: { a: "Mg==" } }, how);
  await settle(61);
  await settle();
  assert.deepEqual(secret()?.data, { a: "Mg==" });
});

type Pair = ReturnType<typeof pairOf>;
const edit = async ({ here, object }: Pair, fields: object) => {
  const { uid = "", resourceVersion = "" } = object()?.metadata ?? {};
  await here.patch(`${syncSecretsIn("default")}/one`, {
    metadata: { uid, resourceVersion },
    ...fields,
  });
};
for (const [reason, change] of [
  ["Invalid", async (pair) => await edit(pair, { data: { "a/b": "eA==" } })],
  [
    "Waiting",
    async (pair) => {
      await edit(pair, { data: { a: "eQ==" } });
      pair.management.refuses = ({ path }, verb) =>
        verb === "patch" && path.endsWith("/status") ? refuse(409, "Conflict", "no") : undefined;
    },
  ],
  ...([401, 503] as const).map(
    (status) =>
      [
        status === 401 ? "Denied" : "Unreachable",
        async ({ management }: Pair) => {
          management.refuses = () => refuse(status, "Refused", "no");
        },
      ] as const,
  ),
] satisfies readonly (readonly [string, (pair: Pair) => Promise<void>])[])
  test(`keeps the name and the version of the Secret in status when it reports ${reason}`, async (t) => {
    const pair = pairOf(t);
    const { create, object, secret, settle } = pair;
    await create({ data: { a: "eA==" } });
    await settle();
    await settle();
    const named = () => {
      const { secretName, resourceVersion } = object()?.status ?? {};
      return { secretName, resourceVersion };
    };
    const { name, resourceVersion } = secret()?.metadata ?? {};
    assert.deepEqual(named(), { secretName: name, resourceVersion });
    await change(pair);
    for (let run = 0; run < 3; run += 1) await settle(600).catch(() => {});
    assert.equal(conditionOf(object()?.status, "Ready")?.reason, reason);
    assert.deepEqual(named(), { secretName: name, resourceVersion });
  });

test("L1: shares no Secret that no Role allows to read, and reports this", async (t) => {
  const { home, create, object, secret, settle } = pairOf(t);
  home.refuses = ({ path }) =>
    path.endsWith("/secrets/tls") ? refuse(403, "Forbidden", "no") : undefined;
  await create({ secretRef: { name: "tls" } });
  await settle();
  const ready = conditionOf(object()?.status, "Ready");
  assert.deepEqual([ready?.status, ready?.reason], ["False", "Invalid"]);
  assert.match(ready?.message ?? "", /^GPS485: .*no Role allows to read tls/);
  assert.equal(secret(), undefined);
});

for (const [why, type] of [
  ["does not exist", undefined],
  ["has type example.com/t", "example.com/t"],
] as const)
  test(`shares no Secret that ${why}, and reports this`, async (t) => {
    const { here, create, object, secret, settle } = pairOf(t);
    const metadata = { name: "tls", namespace: "default" };
    const body = { apiVersion: "v1", kind: "Secret", metadata, type, data: { a: "MQ==" } };
    if (type !== undefined) await here.create(secretsIn("default"), body);
    await create({ secretRef: { name: "tls" } });
    await settle();
    const { reason, message = "" } = conditionOf(object()?.status, "Ready") ?? {};
    assert.deepEqual([reason, secret()], ["Invalid", undefined]);
    assert.match(message, new RegExp(`^GPS485: .*tls ${why}`));
  });
