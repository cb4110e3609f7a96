/** Which nodes a rollout goes on without, and when there are too many of them to call them odd. */
import type { Standing } from "./node-state.ts";
import { budgetNodes, failuresAllowed } from "./strategy.ts";
import type { DaemonSetState, RolloutInput } from "./turn.ts";

/**
 * Nodes whose agents cannot be available: each has a slot of its own beside the budget, and proves
 * nothing.
 */
export function unavailableFor({ unreachable, refused, excused }: Standing): number {
  return unreachable + refused + excused;
}

/**
 * And those that are in trouble under the present template: the next one replaces and counts their
 * agents at once.
 */
export function brokenFor(standing: Standing): number {
  return unavailableFor(standing) + standing.failed + standing.stuck;
}

/**
 * Only what failed newly: who was unavailable before the template, or fails again when it is tried
 * again, is excused.
 */
export function tooManyFailed(
  { failed, total }: Standing,
  { maxFailures }: Pick<RolloutInput, "maxFailures">,
): boolean {
  return failed > failuresAllowed(maxFailures, total);
}

/**
 * More nodes are away than can be odd: the larger of 1 and a third. Or, in mid-wave, more than the
 * budget have stopped working under the template before: the DaemonSet controller replaces all
 * their agents beside the budget, and when they are back all get the new template together. Who
 * gives every node as the budget has asked for that.
 */
export function isOutage(
  { out, fallen, total }: Standing,
  input: RolloutInput,
  daemonSet: DaemonSetState,
): boolean {
  if (input.maxUnavailable === "100%") return false;
  if (out > Math.max(1, Math.floor(total / 3))) return true;
  const midWave = daemonSet.template > 0 && input.intent !== "hold";
  return midWave && fallen > Math.max(1, budgetNodes(input.maxUnavailable, daemonSet.desired));
}
