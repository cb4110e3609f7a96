/** A revision's way from birth over the canary to the last node of the wave. Pure. */
import { askingSeconds, guardSeconds } from "#contract/names.ts";
import { wait } from "#controller/rollout/turn/answers.ts";
import { tooManyFailed, unavailableFor } from "#controller/rollout/turn/excuses.ts";
import { canaryPause, hasStood, stallLimit } from "#controller/rollout/turn/patience.ts";
import { haltedPause, isHalted } from "./wave-end.ts";
import {
  everyNode,
  raisedBy,
  slotsOf,
  unsurveyed,
  type Strategy,
} from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState, Phase, RolloutInput, Turn } from "#controller/rollout/turn/turn.ts";

/**
 * The next turn of a revision that is on its way: agents are born, then one node proves it, then
 * the budget applies.
 */
export function carryOn(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { counts } = input;
  const halted = isHalted(input) && input.intent !== "hold";
  const again = halted ? haltedPause : stallLimit(input);
  const phase = (stage: Phase) => (halted ? "halted" : input.intent === "hold" ? "held" : stage);
  if (daemonSet.template === 0) {
    const soon = Math.min(again, Math.max(1, guardSeconds - input.readySeconds));
    return wait(
      phase("birth"),
      kept,
      `${daemonSet.ready} of ${daemonSet.desired} agents ready`,
      soon,
    );
  }
  const progress = `${daemonSet.updated} of ${daemonSet.desired} nodes updated, ${daemonSet.available} available`;
  if (input.maxUnavailable === "100%") return wait(phase("wave"), everyNode, progress, again);
  const odd = counts && unavailableFor(counts) + (tooManyFailed(counts, input) ? 0 : counts.failed);
  const proved = daemonSet.stage === "wave" || isProved(input, daemonSet);
  if (!proved) {
    const strategy =
      odd === undefined ? kept : raisedBy({ stage: "canary", maxUnavailable: 1 }, odd, daemonSet);
    // The counters may say nothing more until the next node's false Ready, which has to last as
    // well.
    return wait(
      phase("canary"),
      strategy,
      `one node first: ${progress}${input.registers ? untilAsked : ""}`,
      canaryPause(input, daemonSet) || again,
    );
  }
  const spared = input.intent === "hold" || !input.restarts;
  const wave: Strategy = spared
    ? everyNode
    : { stage: "wave", maxUnavailable: input.maxUnavailable };
  if (daemonSet.stage === "canary") {
    const assumed = odd ?? slotsOf(daemonSet, input);
    return wait(
      phase("wave"),
      raisedBy(wave, assumed, daemonSet),
      `the first node has proved it: ${progress}`,
      again,
    );
  }
  return wait(
    phase("wave"),
    odd === undefined ? unsurveyed(kept, wave, daemonSet) : raisedBy(wave, odd, daemonSet),
    progress,
    again,
  );
}

/**
 * The rest of the canary's message. A kubelet asks only when a pod pulls on its node, and there may
 * be none.
 */
const untilAsked = `; one whose kubelet was told of its provider is waited for until a pod pulls there, ${askingSeconds / 60} min at most`;

/**
 * True when at least one pod of the template is available. The counters show it when more nodes are
 * updated than unavailable. A survey shows it directly, which is needed when odd nodes are
 * unavailable all the time.
 */
function isProved(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  if (input.counts !== undefined && tooManyFailed(input.counts, input)) return false;
  const counted = daemonSet.updated > daemonSet.desired - daemonSet.available;
  return hasStood(input) && (counted || (input.counts?.served ?? 0) > 0);
}
