/**
 * Which clusters an object selects, and how each is reached. A cluster of Cluster API has its
 * namespace's name, or NAMESPACE:NAME where a namespace may have several.
 */
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Reading } from "./access.ts";
import { clustersOf, ofCluster } from "./cluster-api.ts";

/**
 * Names of the selected clusters, sorted. Rejects where an inventory cannot be read, so that
 * nothing is known.
 */
export async function selectedBy(
  home: Cluster,
  { clusterAPI, via }: FleetSecretSpec,
): Promise<string[]> {
  // A ClusterResourceSet serves all Clusters of its namespace.
  const by = via === "ClusterResourceSet" ? "Namespace" : undefined;
  return clusterAPI === undefined ? [] : await clustersOf(home, clusterAPI, by);
}

/** How the cluster of that name is reached, whether it is still selected or is leaving. */
export async function readAccess(home: Cluster, name: string): Promise<Reading> {
  return await ofCluster(home, name);
}
