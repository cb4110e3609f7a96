/** Turns, as every rule of a rollout constructs them. Pure. */
import { everyNode, firstStrategy, raisedBy, type Strategy } from "./strategy.ts";
import type { DaemonSetState, Phase, RolloutInput, Turn } from "./turn.ts";

/** The phase of a template that nothing holds up. */
export const phaseOf = (daemonSet: DaemonSetState): Phase =>
  daemonSet.template === 0 ? "birth" : daemonSet.stage;

/** Leaves the template, with this strategy. `again`: seconds until the next look. */
export function wait(
  phase: Phase,
  strategy: Strategy,
  reason: string,
  again: number,
): Turn & { kind: "wait" } {
  return { kind: "wait", phase, strategy, reason, again };
}

/**
 * Brings the published revision to the nodes, one node first. `odd`: how many agents cannot be
 * available; each gets a slot beside the budget.
 */
export function roll(
  input: RolloutInput,
  daemonSet: DaemonSetState,
  odd: number,
  reason: string,
): Turn & { kind: "roll" } {
  return { kind: "roll", revision: "published", strategy: first(input, daemonSet, odd), reason };
}

/**
 * The strategy that a template begins with: one node, or every node under a hold, which restarts no
 * kubelet.
 */
export function first(
  { wanted, maxUnavailable }: RolloutInput,
  daemonSet: DaemonSetState,
  odd: number,
): Strategy {
  return wanted === "hold" ? everyNode : raisedBy(firstStrategy(maxUnavailable), odd, daemonSet);
}
