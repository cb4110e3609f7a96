/** Which nodes a rollout goes on without, and when these are too many to be odd. */
import type { FateCounts } from "./node-state.ts";
import { budgetNodes, failuresAllowed } from "./strategy.ts";
import type { DaemonSetState, RolloutInput } from "./turn.ts";

/**
 * How many nodes have an agent that cannot be available. Each has a slot of its own beside the
 * budget, and proves nothing.
 */
export function unavailableFor({ unreachable, refused, excused }: FateCounts): number {
  return unreachable + refused + excused;
}

/**
 * The same, with the nodes in trouble under the present template. The next template replaces their
 * agents and counts them at once.
 */
export function brokenFor(counts: FateCounts): number {
  return unavailableFor(counts) + counts.failed + counts.stuck;
}

/**
 * True when more nodes failed than may. Only new failures count: a node that was unavailable before
 * the template, or fails again in a retry, is excused.
 */
export function tooManyFailed(
  { failed, total }: FateCounts,
  { maxFailures }: Pick<RolloutInput, "maxFailures">,
): boolean {
  return failed > failuresAllowed(maxFailures, total);
}

/**
 * True when more nodes are away than can be odd: more than the larger of 1 and a third. In mid-wave
 * also when more nodes than the budget have stopped working under the previous template. The
 * DaemonSet controller replaces all their agents beside the budget, so when they are back all get
 * the new template together. A budget of every node asks for just that, so it knows no outage.
 */
export function isOutage(
  { out, fallen, total }: FateCounts,
  input: RolloutInput,
  daemonSet: DaemonSetState,
): boolean {
  if (input.maxUnavailable === "100%") return false;
  if (out > Math.max(1, Math.floor(total / 3))) return true;
  const midWave = daemonSet.template > 0 && input.intent !== "hold";
  return midWave && fallen > Math.max(1, budgetNodes(input.maxUnavailable, daemonSet.desired));
}
