/** When a wave goes no further, and how it is stopped. Pure. */
import { wait } from "#controller/rollout/turn/answers.ts";
import { tooManyFailed } from "#controller/rollout/turn/excuses.ts";
import { stallLimit } from "#controller/rollout/turn/patience.ts";
import { everyNode, type Strategy } from "#controller/rollout/turn/strategy.ts";
import type {
  DaemonSetState,
  HaltReason,
  RolloutInput,
  Turn,
} from "#controller/rollout/turn/turn.ts";

/**
 * Seconds between two looks at a halt. Nobody but an administrator, or a node's own recovery, which
 * shows in the counters, ends it.
 */
export const haltedPause = 30;

/**
 * Stops a wave. What contains a revision is the Secret: a pod applies its own revision only, so
 * from the reply on no node begins it. A withdrawn credential is never held to an older document:
 * its wave only stands (docs/decisions/0022).
 */
export function halt(
  input: RolloutInput,
  daemonSet: DaemonSetState,
  kept: Strategy,
  why: HaltReason,
): Turn {
  const reason = why === "failed" ? "nodes failed with it" : "too many nodes are out of reach";
  const held =
    input.intent === "hold" || daemonSet.template === 0 || input.published !== daemonSet.template;
  const reached = input.complete || (why === "outage" && daemonSet.updated === daemonSet.desired);
  if (input.intent === "apply" && !input.takesBack.published && !held && !reached)
    return { kind: "roll", revision: "published", strategy: everyNode, reason, halt: why };
  const phase = why === "failed" ? "halted" : "outage";
  const told = why === "failed" ? { halt: why } : {};
  return {
    ...wait(phase, kept, reason, why === "failed" ? haltedPause : stallLimit(input)),
    ...told,
  };
}

/** Whether nodes have failed newly, or nothing moves any more but what is stuck. */
export function isHalted(input: RolloutInput): boolean {
  const { standing } = input;
  if (standing === undefined) return false;
  return tooManyFailed(standing, input) || (standing.stuck > 0 && standing.moving === 0);
}

/**
 * Waiting would not help: stuck nodes are excused in time, but only where others have the template.
 */
export function isHopeless(input: RolloutInput): boolean {
  const { standing } = input;
  if (standing === undefined) return false;
  return tooManyFailed(standing, input) || standing.served === 0;
}
