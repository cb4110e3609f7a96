/** The budget of the DaemonSet's rolling update. Pure. */
import type { Published } from "./evidence.ts";

/**
 * Seconds for which the first pod of a new template must be Ready. The pod of a dead node looks
 * Ready for 40 to 50 s.
 */
const firstPodSeconds = 60;

/** The budget, and the seconds until time alone changes it. */
export type Budget = Readonly<{ maxUnavailable: number; again: number }>;

/**
 * One node at a time until the first pod of the present template has been Ready for 60 s. After
 * that the policy's number, and the unreachable nodes, whose pods nobody can replace. While nothing
 * is replaced, the budget is 1, so that `kubectl rollout restart` begins with one node as well.
 */
export function upgradeBudget({ nodes, template, policy, now }: Published): Budget {
  const first = { maxUnavailable: 1, again: Number.POSITIVE_INFINITY };
  let unreachable = 0;
  let isUnderWay = false;
  let longest = Number.NEGATIVE_INFINITY;
  for (const { pod } of nodes) {
    if (pod === undefined) continue;
    if (!pod.isCurrent) isUnderWay = true;
    if (pod.isUnreachable) unreachable += 1;
    else if (pod.isCurrent && pod.readySince !== undefined)
      longest = Math.max(longest, now - pod.readySince);
  }
  if (template?.isCurrent !== true || !isUnderWay) return first;
  if (longest < firstPodSeconds) return { ...first, again: firstPodSeconds - longest };
  const budget = policy.maxUnavailable === "all" ? nodes.length : policy.maxUnavailable;
  return { ...first, maxUnavailable: budget + unreachable };
}
