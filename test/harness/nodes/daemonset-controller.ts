/**
 * The DaemonSet controller (kubernetes/pkg/controller/daemon, maxSurge 0), for APIs that have none:
 * which pods are to be made and deleted, and what the DaemonSet's status counts.
 */
import type { ModelNode, ModelPod } from "./nodes.ts";

export type DaemonRules = Readonly<{
  /** Of the template in force. */
  hash: string;
  strategy: "RollingUpdate" | "OnDelete";
  maxUnavailable: number | string;
  minReadySeconds: number;
  /** Since when the pod is Ready, as the controller sees it; undefined while it is not. */
  ready: (pod: ModelPod) => number | undefined;
}>;

export type DaemonCounts = { desired: number; updated: number; ready: number; available: number };

type Placed = Readonly<{ node: ModelNode; pod: ModelPod }>;

/**
 * One sync at `now`: a pod for each node that has none, then the update, then the status, which
 * counts the oldest pod of each node.
 */
export function syncDaemonSet(
  { hash, strategy, maxUnavailable, minReadySeconds, ready }: DaemonRules,
  nodes: readonly ModelNode[],
  now: number,
): { create: ModelNode[]; remove: Placed[]; counts: DaemonCounts } {
  const counts = { desired: nodes.length, updated: 0, ready: 0, available: 0 };
  const create: ModelNode[] = [];
  const [broken, candidates]: [Placed[], Placed[]] = [[], []];
  const isAvailable = (pod: ModelPod | undefined) => {
    const since = pod && ready(pod);
    return since !== undefined && now - since >= minReadySeconds;
  };
  let unavailable = 0;
  for (const node of nodes) {
    const [oldest] = node.pods;
    if (oldest === undefined) create.push(node);
    counts.updated += Number((oldest?.hash ?? hash) === hash);
    counts.ready += Number(oldest !== undefined && ready(oldest) !== undefined);
    counts.available += Number(isAvailable(oldest));
    const pod = node.pods.find(({ ending }) => !ending);
    const isThere = isAvailable(pod);
    unavailable += Number(!isThere);
    if (pod !== undefined && pod.hash !== hash) (isThere ? candidates : broken).push({ node, pod });
  }
  if (strategy === "OnDelete") return { create, remove: [], counts };
  const most = unavailableOf(maxUnavailable, nodes.length);
  const chosen = candidates.slice(0, Math.max(0, most - unavailable));
  return { create, remove: [...broken, ...chosen], counts };
}

/**
 * How many agents may be unavailable, by the controller's own reckoning (updatedDesiredNodeCounts):
 * a percentage is rounded up, and of none it makes one.
 */
export function unavailableOf(most: number | string, nodes: number): number {
  const scaled =
    typeof most === "number" ? most : Math.ceil((Number(most.replace("%", "")) * nodes) / 100);
  return nodes > 0 && scaled === 0 ? 1 : scaled;
}
