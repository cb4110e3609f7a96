/**
 * Clusters of Cluster API. The kubeconfig of a Cluster is in a Secret in the same namespace. A
 * namespace contains either one Cluster that has the namespace's name, or any number of Clusters
 * with any names.
 */
import { Buffer } from "node:buffer";
import type { KubernetesObject, V1Namespace, V1Secret } from "@kubernetes/client-node";
import type { ClusterAPISource } from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { allClusters, secretsIn } from "#kube/client/paths.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { sentence } from "../rules/problems.ts";
import { queryOf } from "./selector.ts";
import { reading, type AccessReading } from "./access.ts";

/**
 * Names of the selected clusters. By default, these are the selected namespaces whose Cluster
 * matches `clusterSelector` or, without `clusterSelector`, all selected namespaces. With
 * `clusterNameLabelValue: Name`, they are NAMESPACE:NAME of each matching Cluster in the selected
 * namespaces.
 */
export async function clustersOf(
  home: Cluster,
  { namespaceSelector, clusterSelector, clusterNameLabelValue = "Namespace" }: ClusterAPISource,
): Promise<string[]> {
  const names: string[] = [];
  await home.pages<V1Namespace>("/api/v1/namespaces", queryOf(namespaceSelector), (page) => {
    names.push(...page.flatMap(({ metadata }) => metadata?.name ?? []));
  });
  const byName = clusterNameLabelValue === "Name";
  if (!byName && clusterSelector === undefined) return names;
  const selected = new Set(names);
  const clusters: string[] = [];
  await home.pages<KubernetesObject>(allClusters, queryOf(clusterSelector), (page) => {
    for (const { metadata: { namespace = "", name = "" } = {} } of page)
      if (selected.has(namespace) && (byName || name === namespace))
        clusters.push(byName ? `${namespace}:${name}` : namespace);
  });
  return clusters;
}

/** Whether the source selects objects of kind Cluster, and not only namespaces. */
export const needsClusters = (source: ClusterAPISource | undefined): boolean =>
  source?.clusterNameLabelValue === "Name" || source?.clusterSelector !== undefined;

/**
 * True if Cluster API has deleted the cluster: there is no object Cluster, and Cluster API removes
 * it only after the cluster's machines. False if we cannot read the Clusters.
 */
export async function isDeleted(home: Cluster, cluster: string): Promise<boolean> {
  const [namespace = "", name = namespace] = cluster.split(":");
  const names: unknown[] = [];
  const query = { fieldSelector: `metadata.namespace=${namespace},metadata.name=${name}` };
  try {
    await home.pages(allClusters, query, (page) => void names.push(...page));
    return names.length === 0;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** The access to a Cluster, from the Secret NAME-kubeconfig in its namespace. */
export async function ofCluster(home: Cluster, cluster: string): Promise<AccessReading> {
  const [namespace = "", own = namespace] = cluster.split(":");
  const name = `${own}-kubeconfig`;
  const secret = await home.get<V1Secret>(`${secretsIn(namespace)}/${name}`);
  const value = secret?.data?.["value"];
  if (value === undefined) return { ok: false, why: sentence("noKubeconfig", name), absent: true };
  return reading(readKubeconfig(Buffer.from(value, "base64"), name), value);
}
