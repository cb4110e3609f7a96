import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { selectedBy } from "./inventory.ts";

const spec: FleetSecretSpec = {
  secretRef: { name: "source" },
  target: { name: "pull-secret" },
  clusterAPI: { namespaceSelector: { matchLabels: { fleet: "x" } } },
  clusterProfiles: { namespaces: ["p"], selector: {}, clusterManagers: ["m"] },
};

/** A management cluster in which each list has one staging cluster, and others without canaries. */
const home = {
  async pages(
    path: string,
    { labelSelector = "" }: Record<string, string>,
    each: (page: readonly object[]) => void,
  ) {
    const names = labelSelector.includes("stage in (staging)") ? ["s"] : ["a", "s"];
    each(names.map((name) => ({ metadata: { name }, spec: { clusterManager: { name: "m" } } })));
    assert.ok(path.endsWith("/clusterprofiles") || labelSelector.includes("fleet"));
  },
} as unknown as Cluster;

test("selects the canaries by label among the selected clusters of each inventory", async () => {
  const canaries = { matchLabels: { stage: "staging" } };
  const selection = await selectedBy(home, { ...spec, rollout: { canaries } });
  assert.deepEqual(selection.names, ["a", "p/a", "p/s", "s"]);
  assert.deepEqual([...selection.canaries].toSorted(), ["p/s", "s"]);
});

test("selects namespaces as canaries where one ClusterResourceSet serves a namespace", async () => {
  const { clusterProfiles: _, ...others } = spec;
  const namespaceSelector = { matchLabels: { fleet: "x" } };
  const clusterAPI = { namespaceSelector, clusterNameLabelValue: "Name" } as const;
  const rollout = { canaries: { matchLabels: { stage: "staging" } } };
  const delegated = { ...others, clusterAPI, via: "ClusterResourceSet", rollout } as const;
  assert.deepEqual([...(await selectedBy(home, delegated)).canaries], ["s"]);
});

test("selects no canaries without rollout.canaries", async () => {
  const { canaries } = await selectedBy(home, spec);
  assert.equal(canaries.size, 0);
});
