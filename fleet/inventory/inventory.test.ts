import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import { clusterManager, clustersNamespace, leavingLabel } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn } from "#kube/client/paths.ts";
import { picksOf, type Stored } from "#test/harness/api/protocol.ts";
import { releasedFrom, selectedBy } from "./inventory.ts";

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

/** Each combination of what decides whether a profile is selected, or released. */
const profiles = [clustersNamespace, "theirs"].flatMap((namespace) =>
  [clusterManager, "other.example", "unnamed.example"].flatMap((manager) =>
    [true, false].flatMap((isProd) =>
      [true, false].map((isLeaving) => ({ namespace, manager, isProd, isLeaving })),
    ),
  ),
);
type Profile = (typeof profiles)[number];
const nameOf = ({ namespace, manager, isProd, isLeaving }: Profile) =>
  `${namespace}/${manager}${isProd ? "-prod" : ""}${isLeaving ? "-leaving" : ""}`;
const namesOf = (picked: (profile: Profile) => boolean) =>
  profiles.filter(picked).map(nameOf).toSorted();

/** A management cluster with all these profiles. */
const withProfiles = {
  async pages(path: string, query: Record<string, string>, each: (page: Stored[]) => void) {
    const picks = picksOf(new URLSearchParams(query));
    const objects = profiles
      .filter(({ namespace }) => path === clusterProfilesIn(namespace))
      .map((profile) => ({
        metadata: {
          name: nameOf(profile).slice(profile.namespace.length + 1),
          labels: {
            ...(profile.isProd && { tier: "prod" }),
            ...(profile.isLeaving && { [leavingLabel]: "true" }),
          },
        },
        spec: { clusterManager: { name: profile.manager } },
      }));
    each((objects as unknown as Stored[]).filter(picks));
  },
} as unknown as Cluster;

for (const selector of [
  { matchLabels: { tier: "prod" } },
  { matchExpressions: [{ key: "tier", operator: "Exists" }] },
] as const)
  test(`selects no leaving ClusterProfile with ${JSON.stringify(selector)}, and releases only those of joined clusters`, async () => {
    const { clusterAPI: _, ...others } = spec;
    const clusterProfiles = {
      namespaces: [clustersNamespace, "theirs"],
      selector,
      clusterManagers: [clusterManager, "other.example"],
    };
    const { names } = await selectedBy(withProfiles, { ...others, clusterProfiles });
    assert.deepEqual(
      names,
      namesOf(
        ({ manager, isProd, isLeaving }) => manager !== "unnamed.example" && isProd && !isLeaving,
      ),
    );
    const released = await releasedFrom(
      withProfiles,
      namesOf(() => true),
    );
    assert.deepEqual(
      released.toSorted(),
      namesOf(
        ({ namespace, manager, isLeaving }) =>
          namespace === clustersNamespace && manager === clusterManager && isLeaving,
      ),
    );
  });
