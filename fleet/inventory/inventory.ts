/**
 * The clusters that a FleetSecret selects, and how to reach each of them. The name of a cluster is
 * its namespace for Cluster API, NAMESPACE:NAME if a namespace can have several Clusters, and
 * NAMESPACE/NAME for a ClusterProfile.
 */
import type { FleetSecretSpec, LabelExpression, NamespaceSelector } from "#api/fleet-secret.ts";
import { clusterManager, clustersNamespace, leavingLabel } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { AccessReading } from "./access.ts";
import { clustersOf, ofCluster } from "./cluster-api.ts";
import { ofProfile, profilesOf } from "./cluster-profiles.ts";

export type Selection = Readonly<{
  /** Names of the selected clusters, sorted. */
  names: readonly string[];
  /** Those that `rollout.canaries` selects. */
  canaries: ReadonlySet<string>;
}>;

/** The selected clusters. Rejects if an inventory cannot be read. */
export async function selectedBy(home: Cluster, spec: FleetSecretSpec): Promise<Selection> {
  const { canaries } = spec.rollout ?? {};
  const names = await namesBy(home, spec);
  const first = canaries === undefined ? [] : await namesBy(home, narrowed(spec, canaries));
  return { names, canaries: new Set(first) };
}

/** The spec with the selector of the canaries added to the selector of each inventory. */
function narrowed(spec: FleetSecretSpec, canaries: NamespaceSelector): FleetSecretSpec {
  const { clusterAPI, clusterProfiles } = spec;
  // A namespace can have several Clusters only if they have their own names. One ClusterResourceSet
  // serves its whole namespace.
  const isEach = clusterAPI?.clusterNameLabelValue === "Name" && spec.via !== "ClusterResourceSet";
  const of = isEach ? "clusterSelector" : "namespaceSelector";
  return {
    ...spec,
    ...(clusterAPI && {
      clusterAPI: { ...clusterAPI, [of]: both(clusterAPI[of] ?? {}, canaries) },
    }),
    ...(clusterProfiles && {
      clusterProfiles: {
        ...clusterProfiles,
        selector: both(clusterProfiles.selector, canaries),
      },
    }),
  };
}

/** A selector that matches what both match. */
const both = (first: NamespaceSelector, other: NamespaceSelector): NamespaceSelector => ({
  matchExpressions: [...expressionsOf(first), ...expressionsOf(other)],
});

const expressionsOf = ({ matchLabels = {}, matchExpressions = [] }: NamespaceSelector) => [
  ...Object.entries(matchLabels).map(([key, value]) => inOne(key, value)),
  ...matchExpressions,
];

const inOne = (key: string, value: string): LabelExpression => ({
  key,
  operator: "In",
  values: [value],
});

async function namesBy(
  home: Cluster,
  { clusterAPI, clusterProfiles, via }: FleetSecretSpec,
): Promise<string[]> {
  // One ClusterResourceSet serves its whole namespace, and Cluster API selects the Clusters there.
  const delegated = via === "ClusterResourceSet";
  const [clusters, profiles] = await Promise.all([
    clusterAPI === undefined
      ? []
      : clustersOf(
          home,
          delegated ? { namespaceSelector: clusterAPI.namespaceSelector } : clusterAPI,
        ),
    clusterProfiles === undefined
      ? []
      : profilesOf(home, { ...clusterProfiles, selector: staying(clusterProfiles.selector) }),
  ]);
  return [...clusters, ...profiles].toSorted();
}

/**
 * Names of the clusters that the command `fleet remove` is removing. Empty if no cluster in
 * `names` can be a joined cluster. The command removes only joined clusters, so we ignore the
 * command's label on all other profiles. We do not use the FleetSecret's selectors, because a user
 * might have edited them.
 */
export async function releasedFrom(
  home: Cluster,
  names: readonly string[],
): Promise<readonly string[]> {
  if (!names.some((name) => name.startsWith(`${clustersNamespace}/`))) return [];
  const selector = { matchExpressions: [{ key: leavingLabel, operator: "Exists" as const }] };
  const joined = { namespaces: [clustersNamespace], clusterManagers: [clusterManager] };
  return await profilesOf(home, { ...joined, selector });
}

/** The same selector, but without profiles that are leaving. */
const staying = ({ matchLabels, matchExpressions = [] }: NamespaceSelector): NamespaceSelector => ({
  ...(matchLabels && { matchLabels }),
  matchExpressions: [...matchExpressions, { key: leavingLabel, operator: "DoesNotExist" }],
});

/** How to reach the cluster of this name, even if it is leaving. */
export async function readAccess(home: Cluster, name: string): Promise<AccessReading> {
  return await (name.includes("/") ? ofProfile(home, name) : ofCluster(home, name));
}
