/**
 * The clusters that an object selects, and how to reach each. A cluster of Cluster API has its
 * namespace's name, or NAMESPACE:NAME if a namespace can have several. A cluster of a
 * ClusterProfile has NAMESPACE/NAME.
 */
import type { FleetSecretSpec, NamespaceSelector } from "#api/fleet-secret.ts";
import { clusterManager, clustersNamespace, leavingLabel } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { AccessReading } from "./access.ts";
import { clustersOf, ofCluster } from "./cluster-api.ts";
import { ofProfile, profilesOf } from "./cluster-profiles.ts";

/**
 * Names of the selected clusters, sorted. Rejects if an inventory cannot be read, because then
 * nothing is known.
 */
export async function selectedBy(
  home: Cluster,
  { clusterAPI, clusterProfiles, via }: FleetSecretSpec,
): Promise<string[]> {
  // One ClusterResourceSet serves all Clusters of its namespace and selects them itself.
  const delegated = via === "ClusterResourceSet";
  const [clusters, profiles] = await Promise.all([
    clusterAPI === undefined
      ? []
      : clustersOf(
          home,
          delegated ? { namespaceSelector: clusterAPI.namespaceSelector } : clusterAPI,
        ),
    clusterProfiles === undefined || delegated
      ? []
      : profilesOf(home, { ...clusterProfiles, selector: staying(clusterProfiles.selector) }),
  ]);
  return [...clusters, ...profiles].toSorted();
}

/**
 * Names of the clusters that `clusters remove` is removing, if one of the `left` clusters may be
 * among them. The command removes only joined clusters. On any other profile the label proves
 * nothing. Neither other labels nor the spec count, because a spec may have been edited.
 */
export async function releasedFrom(
  home: Cluster,
  left: readonly string[],
): Promise<readonly string[]> {
  if (!left.some((name) => name.startsWith(`${clustersNamespace}/`))) return [];
  const selector = { matchExpressions: [{ key: leavingLabel, operator: "Exists" as const }] };
  const joined = { namespaces: [clustersNamespace], clusterManagers: [clusterManager] };
  return await profilesOf(home, { ...joined, selector });
}

/** The selector, without profiles that are leaving. */
const staying = ({ matchLabels, matchExpressions = [] }: NamespaceSelector): NamespaceSelector => ({
  ...(matchLabels && { matchLabels }),
  matchExpressions: [...matchExpressions, { key: leavingLabel, operator: "DoesNotExist" }],
});

/** How to reach the cluster of this name, even if it is leaving. */
export async function readAccess(home: Cluster, name: string): Promise<AccessReading> {
  return await (name.includes("/") ? ofProfile(home, name) : ofCluster(home, name));
}
