/**
 * How a revision reaches the nodes. Pure: maps what was observed to the next turn and its reason.
 * The DaemonSet controller replaces the pods; we choose its template and how many nodes it may take
 * at a time:
 *
 *   birth (revision 0, touches nothing) → canary (one node) → wave (the budget) → served
 *
 * A revision that fails, or whose wave meets an outage, is followed by one that says "hold": every
 * node keeps what it has. Each rule says what makes it safe. The rules about available pods follow
 * kubernetes/pkg/controller/daemon/update.go.
 */
import { carryOn } from "./advance.ts";
import { phaseOf, roll, wait } from "#controller/rollout/turn/answers.ts";
import { brokenFor, isOutage, unavailableFor } from "#controller/rollout/turn/excuses.ts";
import {
  hasStood,
  isCalm,
  isWorthASurvey,
  stallLimit,
  standsIn,
} from "#controller/rollout/turn/patience.ts";
import { repair } from "./repair.ts";
import { allLivingServed, isBorn, nextAfterServed } from "./completion.ts";
import { halt, isHalted, isHopeless } from "./wave-end.ts";
import { everyNode, firstStrategy, type Strategy } from "#controller/rollout/turn/strategy.ts";
import {
  type DaemonSetState,
  isOvertaken,
  provedBy,
  type RolloutInput,
  type Turn,
} from "#controller/rollout/turn/turn.ts";

/** The next turn. It asks for a survey only where that may change the answer. */
export function decide(input: RolloutInput): Turn {
  const { daemonSet } = input;
  if (daemonSet === undefined) return born(input);
  // A hold waits for nothing: it restarts no kubelet, and until it is published nodes may still
  // begin the halted revision.
  const waits = (input.pending && daemonSet.template > 0) || isOvertaken(input);
  if (input.wanted === "hold" && waits)
    return {
      kind: "roll",
      revision: "published",
      strategy: everyNode,
      reason: "every node keeps what it has",
    };
  const kept: Strategy = { stage: daemonSet.stage, maxUnavailable: daemonSet.maxUnavailable };
  if (input.lost || daemonSet.drifted) return repair(input, daemonSet, kept);
  if (!daemonSet.observed)
    return wait(
      phaseOf(daemonSet),
      kept,
      "not yet seen by the DaemonSet controller",
      stallLimit(input),
    );
  return rollOut(input, daemonSet, kept);
}

function born({ maxUnavailable }: RolloutInput): Turn {
  const strategy = firstStrategy(maxUnavailable);
  return maxUnavailable === "100%"
    ? {
        kind: "roll",
        revision: "published",
        strategy,
        reason: "born at its revision: the budget is every node",
      }
    : { kind: "roll", revision: 0, strategy, reason: "born at revision 0, which touches nothing" };
}

function rollOut(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { counts, pending, published } = input;
  const all = daemonSet.updated === daemonSet.desired && provedBy(daemonSet) === daemonSet.desired;
  if (counts === undefined && isToBeSurveyed(input, daemonSet, all)) return { kind: "survey" };
  if (counts === undefined && daemonSet.template === 0 && daemonSet.desired > 0)
    return carryOn(input, daemonSet, kept);
  const counted = all && (counts === undefined || daemonSet.template > 0);
  const served = counted || allLivingServed(input, daemonSet);
  const done = served && !pending && published === daemonSet.template;
  if (counts !== undefined && !done && isOutage(counts, input, daemonSet))
    return halt(input, daemonSet, kept, "outage");
  const odd = all || counts === undefined ? 0 : unavailableFor(counts);
  if (served)
    return hasStood(input)
      ? nextAfterServed(input, daemonSet, odd)
      : wait(phaseOf(daemonSet), kept, "the latest Ready must last to count", standsIn(input));
  if (isOvertaken(input)) return catchUp(input, daemonSet, kept, odd);
  return (
    giveWay(input, daemonSet, kept) ??
    servedBefore(input, daemonSet) ??
    carryOn(input, daemonSet, kept)
  );
}

/**
 * True when nodes and pods have to be read first. At birth that is so even when all agents are
 * Ready: the counters do not say that each Ready has lasted.
 */
function isToBeSurveyed(input: RolloutInput, daemonSet: DaemonSetState, all: boolean): boolean {
  if (daemonSet.template > 0) return !all && isWorthASurvey(input, daemonSet);
  return isBorn(input, all) && (all || isWorthASurvey(input, daemonSet));
}

/**
 * Puts the published revision into the template, after a stop between the two writes. Until then a
 * pod of the old revision that starts would wait for ever.
 */
function catchUp(
  input: RolloutInput,
  daemonSet: DaemonSetState,
  kept: Strategy,
  odd: number,
): Turn {
  if (isCalm(input, daemonSet))
    return roll(input, daemonSet, odd, "published, but not yet in the template");
  const reason = "published; the missing agents come first";
  return wait(phaseOf(daemonSet), kept, reason, stallLimit(input));
}

/** Lets the next revision follow one that halted, or stops it where waiting would not help. */
function giveWay(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn | undefined {
  const { counts, intent, pending, complete } = input;
  if (counts === undefined || daemonSet.template === 0 || intent === "hold") return undefined;
  if (!isHalted(input)) return undefined;
  if (pending) return roll(input, daemonSet, brokenFor(counts), "the halted revision gives way");
  return isHopeless(input) && !complete ? halt(input, daemonSet, kept, "failed") : undefined;
}

/**
 * Leaves a rollout served that every node once had. Agents that joined or fell out since are looked
 * after, but that is no news of the rollout.
 */
function servedBefore(input: RolloutInput, daemonSet: DaemonSetState): Turn | undefined {
  const { complete, counts, pending, intent, maxUnavailable } = input;
  const idle = complete && counts === undefined && daemonSet.stage === "wave" && !pending;
  if (!idle || daemonSet.updated !== daemonSet.desired || intent === "hold") return undefined;
  const strategy: Strategy = { stage: "wave", maxUnavailable };
  return { kind: "served", strategy, reason: "every node had it", again: stallLimit(input) };
}
