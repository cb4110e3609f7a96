/** Agents' pods that are still ending after their DaemonSet is gone. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { agentName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isAgent } from "#controller/rollout/pods.ts";
import { collections } from "#kube/client/paths.ts";

/** Most pods that are read: 0.5 MB, of what may be 5,000 pods. Of as many nodes only theirs are. */
const page = 100;

/**
 * How many agents' pods are left on Ready nodes, counted up to 100. The pod of an unreachable node
 * ends when the node returns, so it does not count. If more are left than a page holds, nodes are
 * not asked for.
 */
export async function agentsLeft(cluster: Cluster): Promise<number> {
  const { items, metadata } = await read<V1Pod>(cluster, collections.pods, {
    labelSelector: `name=${agentName}`,
    limit: String(page),
  });
  const ours = items.filter(isAgent);
  if (metadata?.continue) return ours.length;
  let count = 0;
  for (const { spec } of ours)
    if (spec?.nodeName !== undefined && (await isReady(cluster, spec.nodeName))) count += 1;
  return count;
}

/**
 * True when the node is Ready. It is read by a list of one: the controller may list nodes anyway,
 * and a right to get them would be one more.
 */
async function isReady(cluster: Cluster, name: string): Promise<boolean> {
  const { items } = await read<V1Node>(cluster, collections.nodes, {
    fieldSelector: `metadata.name=${name}`,
  });
  return (
    items[0]?.status?.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ) ?? false
  );
}

type List<T> = { items: readonly T[]; metadata?: { continue?: string } };

async function read<T>(
  cluster: Cluster,
  collection: string,
  query: Record<string, string>,
): Promise<List<T>> {
  return (
    (await cluster.get<List<T>>(`${collection}?${new URLSearchParams(query)}`)) ?? { items: [] }
  );
}
