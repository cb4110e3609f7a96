/** Which cluster of a fleet gets a content first. One server simulates the clusters. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { until } from "../cluster/await.ts";
import { FakeApi } from "../harness/api/api.ts";
import { directly } from "../harness/api/direct.ts";
import { FakeServer } from "../harness/api/server.ts";
import { startFleets } from "./ailing-fleet.ts";

const names = ["a", "b", "c", "d", "e"];
const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
const objects = "/apis/globalpullsecret.io/v1alpha1/namespaces/kube-system/fleetsecrets";
const secret = (namespace: string, name: string, data: object) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type: "Opaque",
  data,
});

test("begins with another cluster for another content, so that no cluster can halt every rollout", async () => {
  await using fakes = await FakeServer.start();
  const api = new FakeApi();
  const definition = "manifests/chart/files/fleetsecrets/fleetsecrets.yaml";
  api.store.define(readFileSync(definition, "utf8"));
  const home = directly(api, "global-pull-secret-fleet");
  const admin = directly(api, "admin");
  const written: string[] = [];
  const kubeSystem = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } };
  await admin.create("/api/v1/namespaces", kubeSystem);
  for (const name of names) {
    const metadata = { name, labels: { fleet: "x" } };
    await admin.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    const value = Buffer.from(fakes.kubeconfig(name)).toString("base64");
    await admin.create(secrets(name), secret(name, `${name}-kubeconfig`, { value }));
    fakes.api(name).refuses = ({ path }, verb) => {
      if (path.endsWith("/secrets/pull-secret") && verb === "patch") written.push(name);
      return undefined;
    };
  }
  await admin.create(secrets("kube-system"), secret("kube-system", "source", {}));
  await admin.create(objects, {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "FleetSecret",
    metadata: { name: "one", namespace: "kube-system" },
    spec: {
      secretRef: { name: "source" },
      clusterAPI: { namespaceSelector: { matchLabels: { fleet: "x" } } },
      target: { name: "pull-secret" },
    },
  });
  const end = startFleets(home);
  try {
    const firsts = new Set<string>();
    for (let content = 1; content <= 5; content += 1) {
      const summary = () => api.object<FleetSecret>(`${objects}/one`)?.status?.summary;
      await until("every cluster has it", () => summary() === "5/5", { seen: () => written });
      firsts.add(written[0] ?? assert.fail("nothing was written"));
      written.length = 0;
      const data = { a: Buffer.from(String(content)).toString("base64") };
      const how = { manager: "admin", force: true };
      const path = `${secrets("kube-system")}/source`;
      await admin.apply(path, secret("kube-system", "source", data), how);
      await until("a cluster has the next content", () => written.length > 0);
    }
    assert.ok(firsts.size > 1, [...firsts].join());
  } finally {
    await end();
  }
});
