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
 * Seconds between two looks at a halt. It ends only by an administrator, or by a node's own
 * recovery, which shows in the counters.
 */
export const haltedPause = 30;

/**
 * Stops a wave. The Secret is what contains a revision: a pod applies only its own, so once the
 * hold is published no node begins the one that halted. A withdrawal is never held back to an older
 * document; its wave merely stops (docs/decisions/0022).
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

/** True when too many nodes have newly failed, or some are stuck and no other moves. */
export function isHalted(input: RolloutInput): boolean {
  const { counts } = input;
  if (counts === undefined) return false;
  return tooManyFailed(counts, input) || (counts.stuck > 0 && counts.moving === 0);
}

/**
 * True when waiting would not help. Stuck nodes are excused in time, but only where others have the
 * template.
 */
export function isHopeless(input: RolloutInput): boolean {
  const { counts } = input;
  if (counts === undefined) return false;
  return tooManyFailed(counts, input) || counts.served === 0;
}
