/**
 * The DaemonSet controller (kubernetes/pkg/controller/daemon) with the update strategy OnDelete,
 * for APIs without this controller. It computes which pods must be created, and the numbers in the
 * DaemonSet's status.
 */
import type { ModelNode, ModelPod } from "./nodes.ts";

export type DaemonRules = Readonly<{
  /** The hash of the current template. Pods of this template count as updated. */
  hash: string;
  minReadySeconds: number;
  /** Since when the API shows the pod as Ready; undefined if the pod is not Ready. */
  ready: (pod: ModelPod) => number | undefined;
}>;

export type DaemonCounts = { desired: number; updated: number; ready: number; available: number };

/**
 * Simulates one sync at `now`. Returns the nodes that have no pod, and the DaemonSet's status,
 * which counts the oldest pod of each node. A pod of an older template stays until a client deletes
 * it.
 */
export function syncDaemonSet(
  { hash, minReadySeconds, ready }: DaemonRules,
  nodes: readonly ModelNode[],
  now: number,
): { create: ModelNode[]; counts: DaemonCounts } {
  const counts = { desired: nodes.length, updated: 0, ready: 0, available: 0 };
  const create: ModelNode[] = [];
  for (const node of nodes) {
    const [oldest] = node.pods;
    if (oldest === undefined) create.push(node);
    const since = oldest && ready(oldest);
    counts.updated += Number((oldest?.hash ?? hash) === hash);
    counts.ready += Number(since !== undefined);
    counts.available += Number(since !== undefined && now - since >= minReadySeconds);
  }
  return { create, counts };
}
