/**
 * Causes a rollout, a halt, an expired credential, a refused Secret and an outage, and checks that
 * the alerts fire and end, and that every panel of the dashboard shows data. A real Prometheus
 * scrapes the built controller, which runs on a fake API server. Alerts wait only one second here;
 * rules.test.ts covers their real waits.
 */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { collections, globalPullSecretPath } from "#kube/client/paths.ts";
import { ruleGroupsOf } from "#tools/install/alerts.ts";
import { panels } from "#tools/install/monitoring.ts";
import { until } from "../cluster/await.ts";
import { startOnce } from "../controller/plane/process.ts";
import { freePort } from "../free-port.ts";
import { directly } from "../harness/api/direct.ts";
import { install } from "../harness/api/installed.ts";
import { FakeServer } from "../harness/api/server.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import { startPrometheus } from "./prometheus.ts";

const administrator = { manager: "administrator", force: true };
const quick = {
  groups: ruleGroupsOf("controller").groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => Object.assign({}, rule, { for: "1s" })),
  })),
};

test("fires and ends the alerts of a rollout, a halt, bad Secrets and an outage, and shows data in every panel", async (t) => {
  await freshBundle();
  await using server = await FakeServer.start();
  const api = server.api("monitoring");
  install(api);
  const folder = temporary(t);
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig("monitoring"), { mode: 0o600 });
  await using nodes = new NodesDriver(directly(api, "nodes"), { daemonSets: true }).start();
  for (const name of ["node-a", "node-b", "node-c"]) await nodes.add(name);
  const listen = `127.0.0.1:${await freePort()}`;
  const start = () => startOnce(kubeconfig, "--listen", listen);
  const prometheus = await startPrometheus(listen, quick);
  t.after(async () => {
    await prometheus.stop();
    rmSync(prometheus.folder, { recursive: true, force: true });
  });
  const admin = directly(api, "administrator");
  const declareAuth = (auth: string) => {
    const auths = { "r0.example": { auth } };
    const document = Buffer.from(JSON.stringify({ auths })).toString("base64");
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "additional-pull-secret" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": document },
    };
    return admin.apply(`${collections.secrets}/additional-pull-secret`, secret, administrator);
  };
  const declare = (password: string) =>
    declareAuth(Buffer.from(`robot:${password}`).toString("base64"));
  const seen = async () => [...(await prometheus.firing().catch(() => []))].join(", ");
  const fires = (alert: string) =>
    until(`${alert} fires`, async () => (await prometheus.firing()).has(alert), { seen });
  const ends = (alert: string) =>
    until(`${alert} ends`, async () => !(await prometheus.firing()).has(alert), { seen });

  await fires("GlobalPullSecretNoLeader");
  const first = start();
  t.after(() => first[Symbol.asyncDispose]());
  await ends("GlobalPullSecretNoLeader");
  await until("the policy is in force", () =>
    admin.apply(
      globalPullSecretPath,
      {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "GlobalPullSecret",
        metadata: { name: "cluster" },
        spec: { rollout: { maxUnavailable: 1, probation: "3s" } },
      },
      administrator,
    ),
  );

  await declare("one");
  await fires("GlobalPullSecretRolloutSlow");
  await ends("GlobalPullSecretRolloutSlow");

  nodes.behaviour = () => "GPS218 the kubelet did not start";
  await declare("two");
  await fires("GlobalPullSecretRolloutHalted");
  await fires("GlobalPullSecretNodesLeftOut");
  for (const { title, expr } of panels)
    await until(`the panel ${title} shows data`, async () => (await prometheus.series(expr)) > 0);
  nodes.behaviour = () => "ready";
  await declare("three");
  await ends("GlobalPullSecretRolloutHalted");
  await ends("GlobalPullSecretNodesLeftOut");

  // A JWT that expired in 2001.
  const payload = Buffer.from(JSON.stringify({ exp: 1_000_000_000 })).toString("base64url");
  await declare(`eyJhbGciOiJub25lIn0.${payload}.x`);
  await fires("GlobalPullSecretCredentialExpires");
  await declare("four");
  await ends("GlobalPullSecretCredentialExpires");

  await declareAuth("not base64");
  await fires("GlobalPullSecretRejected");
  await declare("five");
  await ends("GlobalPullSecretRejected");

  await first.kill();
  await fires("GlobalPullSecretNoLeader");
  const second = start();
  t.after(() => second[Symbol.asyncDispose]());
  await ends("GlobalPullSecretNoLeader");
  await ends("GlobalPullSecretRolloutSlow");
  assert.deepEqual(await prometheus.firing(), new Set());
});
