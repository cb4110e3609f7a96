/**
 * The DaemonSet controller (kubernetes/pkg/controller/daemon) with the update strategy
 * RollingUpdate and without surge, for APIs without this controller. It computes which pods must be
 * created or deleted, and the numbers in the DaemonSet's status.
 */
import type { ModelNode, ModelPod } from "./nodes.ts";

export type DaemonRules = Readonly<{
  /** The hash of the current template. Pods of this template count as updated. */
  hash: string;
  minReadySeconds: number;
  maxUnavailable: number;
  /** Since when the API shows the pod as Ready; undefined if the pod is not Ready. */
  ready: (pod: ModelPod) => number | undefined;
}>;

export type DaemonCounts = { desired: number; updated: number; ready: number; available: number };

/**
 * Simulates one sync at `now`. Returns the nodes that have no pod, the pods of older templates that
 * may be replaced now, and the DaemonSet's status, which counts the oldest pod of each node. A pod
 * that is being deleted keeps its place until it is gone.
 */
export function syncDaemonSet(
  { hash, minReadySeconds, maxUnavailable, ready }: DaemonRules,
  nodes: readonly ModelNode[],
  now: number,
): { create: ModelNode[]; remove: ModelPod[]; counts: DaemonCounts } {
  const counts = { desired: nodes.length, updated: 0, ready: 0, available: 0 };
  const create: ModelNode[] = [];
  const [unavailable, replaceable]: [ModelPod[], ModelPod[]] = [[], []];
  let missing = 0;
  for (const node of nodes) {
    const [oldest] = node.pods;
    if (oldest === undefined) {
      create.push(node);
      continue;
    }
    const since = ready(oldest);
    const isAvailable = since !== undefined && now - since >= minReadySeconds;
    counts.updated += Number(oldest.hash === hash);
    counts.ready += Number(since !== undefined);
    counts.available += Number(isAvailable);
    const isReplaced = oldest.hash !== hash && oldest.deletedAt === undefined;
    if (!isReplaced) missing += Number(!isAvailable || oldest.deletedAt !== undefined);
    else (isAvailable ? replaceable : unavailable).push(oldest);
  }
  // An older pod that is not available is replaced whatever the budget.
  const places = Math.max(0, maxUnavailable - missing - unavailable.length);
  return { create, remove: [...unavailable, ...replaceable.slice(0, places)], counts };
}
