/**
 * Both programs of tenants as real processes, between two fake API servers: each request goes to
 * the cluster that has the object.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SyncSecret } from "#api/sync-secret.ts";
import { tenantLabel } from "#contract/names.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { until } from "#test/cluster/await.ts";
import { startProgram } from "#test/cluster/program.ts";
import { directly } from "#test/harness/api/direct.ts";
import { FakeServer } from "#test/harness/api/server.ts";
import { temporary } from "#test/temporary.ts";
import { syncSecretsIn } from "#tenants/objects.ts";
import { syncManager } from "#tenants/rules/copies.ts";

const definition = readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8");
const hour = 3_600_000;

test("brings a Secret to the tenant's namespace, and asks each cluster only for what it has", async (t) => {
  const folder = temporary(t);
  await using server = await FakeServer.start(definition);
  const [home, management] = [server.api("tenant"), server.api("management")];
  const [here, there] = [directly(home, "user"), directly(management, "administrator")];
  const namespace = { apiVersion: "v1", kind: "Namespace" };
  const labels = { [tenantLabel]: "a" };
  const namespaces = "/api/v1/namespaces";
  await here.create(namespaces, { ...namespace, metadata: { name: "kube-system" } });
  await there.create(namespaces, { ...namespace, metadata: { name: "tenant-a", labels } });

  // A token that must be renewed.
  const config = JSON.parse(server.kubeconfig("management")) as { users: object[] };
  const token = tokenFrom(Date.now() - 20 * hour, Date.now() + 4 * hour);
  config.users = [{ name: "management", user: { token } }];
  const [homeFile, file] = [join(folder, "home"), join(folder, "management")];
  writeFileSync(homeFile, server.kubeconfig("tenant"));
  writeFileSync(file, JSON.stringify(config));
  const name = "global-pull-secret-sync-management";
  await here.create(secretsIn("kube-system"), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "kube-system" },
    data: { kubeconfig: readFileSync(file).toString("base64") },
  });
  const object = await here.create<SyncSecret>(syncSecretsIn("default"), {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "SyncSecret",
    metadata: { name: "one", namespace: "default" },
    data: { a: "eA==" },
  });
  for (const api of [home, management]) api.asked.length = 0;

  const start = (program: string, ...flags: readonly string[]) => {
    const argv = [process.execPath, join("tenants", `${program}.ts`), "--listen=127.0.0.1:0"];
    const running = startProgram([...argv, ...flags]);
    t.after(() => running.stop());
  };
  start("management", `--kubeconfig=${file}`);
  start(
    "tenant",
    `--kubeconfig=${homeFile}`,
    `--management-kubeconfig=${file}`,
    "--management-namespace=tenant-a",
  );
  const readyOf = () =>
    conditionOf(
      home.object<SyncSecret>(`${syncSecretsIn("default")}/${object.metadata.name}`)?.status,
      "Ready",
    );
  await until("the object is in sync", () => readyOf()?.reason === "Synced", {
    timeout: 20_000,
  });
  const requests = (api: typeof home, verb: string, resource: string) =>
    api.asked.filter((asked) => asked.verb === verb && asked.resource === resource);
  await until(
    "a token is requested",
    () => requests(management, "create", "serviceaccounts/token").length > 0,
    { timeout: 20_000 },
  );

  const writes = (api: typeof home) =>
    api.asked
      .filter(({ verb }) => !["get", "list", "watch"].includes(verb))
      .map(({ verb, resource, namespace: place }) => `${verb} ${resource} in ${place}`);
  assert.deepEqual([...new Set(writes(home))].toSorted(), [
    "patch coordination.k8s.io/leases in kube-system",
    "patch globalpullsecret.io/syncsecrets in default",
    "patch globalpullsecret.io/syncsecrets/status in default",
  ]);
  assert.deepEqual([...new Set(writes(management))].toSorted(), [
    "create serviceaccounts/token in tenant-a",
    "patch coordination.k8s.io/leases in kube-system",
    "patch globalpullsecret.io/syncsecrets in tenant-a",
    "patch globalpullsecret.io/syncsecrets/status in tenant-a",
    "patch secrets in tenant-a",
  ]);
  for (const { userAgent } of [...home.asked, ...management.asked])
    assert.equal(userAgent, syncManager);
});
