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
 * that the policy's number. The DaemonSet controller counts the pods of unreachable nodes against
 * the budget, so they are added; otherwise one dead node would stop the upgrade. While nothing is
 * replaced, the budget is 1, so that `kubectl rollout restart` begins with one node as well.
 */
export function upgradeBudget({ nodes, template, policy, now }: Published): Budget {
  let isUnderWay = template?.isCurrent !== true;
  let unreachable = 0;
  let longest = Number.NEGATIVE_INFINITY;
  for (const { pod } of nodes) {
    if (pod?.isCurrent === false) isUnderWay = true;
    if (pod?.isUnreachable === true) unreachable += 1;
    else if (pod?.isCurrent === true && pod.readySince !== undefined)
      longest = Math.max(longest, now - pod.readySince);
  }
  if (!isUnderWay) return { maxUnavailable: 1, again: Number.POSITIVE_INFINITY };
  if (template?.isCurrent !== true || longest < firstPodSeconds)
    return { maxUnavailable: 1 + unreachable, again: firstPodSeconds - longest };
  const budget = policy.maxUnavailable === "all" ? nodes.length : policy.maxUnavailable;
  return { maxUnavailable: budget + unreachable, again: Number.POSITIVE_INFINITY };
}
