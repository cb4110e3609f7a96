/**
 * One run of an object, whose management cluster is scripted: a thousand namespaces would take a
 * real one minutes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetSecret, FleetSecretStatus } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Fleet } from "./fleet.ts";

const object: FleetSecret = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "FleetSecret",
  metadata: { name: "one", namespace: "kube-system", uid: "u", generation: 1 },
  spec: {
    secretRef: { name: "source" },
    clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } } },
    target: { name: "pull-secret" },
  },
};

/** The status that one run writes with so many namespaces selected, all without kubeconfigs. */
async function statusWith(count: number): Promise<FleetSecretStatus> {
  const namespaces = Array.from({ length: count }, (_, n) => ({ metadata: { name: `n${n}` } }));
  const written: FleetSecretStatus[] = [];
  const home = {
    async pages(_path: string, _query: object, each: (page: readonly object[]) => void) {
      each(namespaces);
    },
    async get(path: string) {
      return path.endsWith("/source")
        ? { metadata: { resourceVersion: "1" }, type: "Opaque", data: {} }
        : undefined;
    },
    async apply(path: string, { status }: { status: FleetSecretStatus }) {
      if (path.endsWith("/status")) written.push(status);
    },
  } as unknown as Cluster;
  const fleet = new Fleet({ home, clusterId: "id", holds: () => true, hint() {}, log() {} });
  await fleet.run(object, [object]);
  fleet.close();
  return written[0] ?? assert.fail("no status was written");
}

for (const [count, served, stalled] of [
  [1000, 1000, "Progressing"],
  [1001, 1000, "TooManyClusters"],
] as const)
  test(`of ${count} selected clusters ${served} are served, and the object is ${stalled}`, async () => {
    const { clusters, conditions } = await statusWith(count);
    assert.equal(clusters?.length, served);
    assert.equal(conditions?.find(({ type }) => type === "Stalled")?.reason, stalled);
  });
