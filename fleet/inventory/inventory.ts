/**
 * Which clusters an object selects, and how each is reached. A cluster of Cluster API has its
 * namespace's name, or NAMESPACE:NAME where several may be in one; one of a ClusterProfile has
 * NAMESPACE/NAME.
 */
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { AccessReading } from "./access.ts";
import { clustersOf, ofCluster } from "./cluster-api.ts";
import { ofProfile, profilesOf } from "./cluster-profiles.ts";

/**
 * Names of the selected clusters, sorted. Rejects where an inventory cannot be read, so that
 * nothing is known.
 */
export async function selectedBy(
  home: Cluster,
  { clusterAPI, clusterProfiles, via }: FleetSecretSpec,
): Promise<string[]> {
  // A ClusterResourceSet is one for all Clusters of its namespace, which it selects itself.
  const delegated = via === "ClusterResourceSet";
  const [clusters, profiles] = await Promise.all([
    clusterAPI === undefined
      ? []
      : clustersOf(
          home,
          delegated ? { namespaceSelector: clusterAPI.namespaceSelector } : clusterAPI,
        ),
    clusterProfiles === undefined || delegated ? [] : profilesOf(home, clusterProfiles),
  ]);
  return [...clusters, ...profiles].toSorted();
}

/** How the cluster of that name is reached, whether it is still selected or is leaving. */
export async function readAccess(home: Cluster, name: string): Promise<AccessReading> {
  return await (name.includes("/") ? ofProfile(home, name) : ofCluster(home, name));
}
