/** Agents' pods that are still ending after their DaemonSet is gone. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { agentName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";

/** Of 5,000 pods only these are read (0.5 MB), and of 5,000 nodes only theirs. */
const page = 100;

/**
 * How many agents' pods there are on nodes that are Ready, counted up to 100: a dead node's pod
 * ends when the node returns. With more left than a page holds, nodes are not asked for.
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

/** True for a pod that the DaemonSet controls; others may use its label. */
export function isAgent({ metadata }: V1Pod): boolean {
  return (metadata?.ownerReferences ?? []).some(
    ({ kind, name, controller }) =>
      kind === "DaemonSet" && name === agentName && controller === true,
  );
}

/** By a list of one: the right to list nodes is there, and one more would be one too many. */
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
