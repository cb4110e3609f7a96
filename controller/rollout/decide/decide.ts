/**
 * How a revision reaches the nodes. Pure: what is seen → the one next turn and its reason. The
 * DaemonSet controller does the replacing; we choose its template and how many nodes it may take at
 * a time:
 *
 *   birth (revision 0, touches nothing) → canary (one node) → wave (the budget) → served
 *
 * A revision that fails, or whose wave meets an outage, gives way to one that says "hold": every
 * node keeps what it has. What makes it safe is written at each rule. The rules about available
 * pods follow kubernetes/pkg/controller/daemon/update.go.
 */
import { guardSeconds } from "#contract/names.ts";
import { brokenFor, isOutage, tooManyFailed, unavailableFor } from "./excuses.ts";
import { canaryPause, hasStood, isCalm, isWorthASurvey, stallLimit, standsIn } from "./patience.ts";
import { everyNode, firstStrategy, raisedBy, slotsOf, type Strategy } from "./strategy.ts";
import type { DaemonSetState, Phase, RolloutInput, Turn } from "./turn.ts";

/**
 * Nobody but an administrator, or a node's own recovery, which shows in the counters, ends a halt.
 */
const haltedPause = 30;

export function decide(input: RolloutInput): Turn {
  const { daemonSet } = input;
  if (daemonSet === undefined) return born(input);
  const waits = input.pending || input.published > daemonSet.template;
  // Nothing to wait for: it restarts no kubelet, and until it is there nodes may begin what halted.
  if (input.wanted === "hold" && waits && daemonSet.template > 0)
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

/**
 * The Secret or the template is not what we wrote. The Secret is put right at once, the template
 * only when its controller takes no more agents for unavailable than it may: it would replace all
 * others, too (docs/decisions/0013).
 */
function repair(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { lost, standing } = input;
  if (!isCalm(input, daemonSet)) {
    if (standing === undefined && isWorthASurvey(input, daemonSet)) return { kind: "survey" };
    const reason = "to be repaired when the agents that are missing are back";
    return {
      ...wait(phaseOf(daemonSet), kept, reason, stallLimit(input)),
      ...(lost ? { publish: true } : {}),
    };
  }
  const odd = standing === undefined ? slotsOf(daemonSet, input) : brokenFor(standing);
  // The same revision: agents are replaced, kubelets are not restarted. Still one node first: an
  // image can be broken.
  const revision = lost && daemonSet.template > 0 ? "published" : daemonSet.template;
  const reason = lost
    ? "global-pull-secret was lost or edited"
    : "the template is not the declared one";
  return { kind: "roll", revision, strategy: first(input, daemonSet, odd), reason };
}

function rollOut(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { standing, pending, published } = input;
  const all = daemonSet.updated === daemonSet.desired && provedBy(daemonSet) === daemonSet.desired;
  if (
    standing === undefined &&
    (daemonSet.template === 0 ? isBorn(input, all) : !all) &&
    isDue(input, daemonSet, all)
  )
    return { kind: "survey" };
  if (standing === undefined && daemonSet.template === 0 && daemonSet.desired > 0)
    return carryOn(input, daemonSet, kept);
  const counted = all && (standing === undefined || daemonSet.template > 0);
  const served = counted || allLivingServed(input, daemonSet);
  const done = served && !pending && published === daemonSet.template;
  if (standing !== undefined && !done && isOutage(standing, input, daemonSet))
    return halt(input, daemonSet, kept, "outage");
  const odd = all ? 0 : standing && unavailableFor(standing);
  if (served) {
    if (!hasStood(input))
      return wait(phaseOf(daemonSet), kept, "a Ready must last to count", standsIn(input));
    return nextAfterServed(input, daemonSet, odd ?? 0);
  }
  if (daemonSet.template > 0 && published > daemonSet.template) {
    // We stopped between Secret and template: a pod of the old revision that starts now would wait
    // for ever.
    if (isCalm(input, daemonSet))
      return roll(input, daemonSet, odd ?? 0, "published, but not yet in the template");
    return wait(
      phaseOf(daemonSet),
      kept,
      "published; the agents that are missing come first",
      stallLimit(input),
    );
  }
  if (
    standing !== undefined &&
    isHalted(input) &&
    daemonSet.template > 0 &&
    input.intent !== "hold"
  ) {
    if (pending)
      return roll(input, daemonSet, brokenFor(standing), "the halted revision gives way");
    if (isHopeless(input) && !input.complete) return halt(input, daemonSet, kept, "failed");
  }
  const rests = input.complete && standing === undefined && daemonSet.stage === "wave" && !pending;
  if (rests && daemonSet.updated === daemonSet.desired && input.intent !== "hold") {
    // It was served once. Agents that joined or fell out since are looked after, which is no news
    // of the rollout.
    const strategy: Strategy = { stage: "wave", maxUnavailable: input.maxUnavailable };
    return { kind: "served", strategy, reason: "every node had it", again: stallLimit(input) };
  }
  return carryOn(input, daemonSet, kept);
}

/** At birth agents are Ready, never available (docs/decisions/0023). */
const provedBy = ({ template, ready, available }: DaemonSetState) =>
  template === 0 ? ready : available;

/**
 * Every agent Ready for so long as makes it available: a survey says so of each by name, whatever
 * its node's clock.
 */
function isBorn({ stallSeconds, readySeconds }: RolloutInput, all: boolean): boolean {
  return !all || Math.min(stallSeconds, readySeconds) >= guardSeconds;
}

function isDue(input: RolloutInput, daemonSet: DaemonSetState, all: boolean): boolean {
  return (all && daemonSet.template === 0) || isWorthASurvey(input, daemonSet);
}

/**
 * And the DaemonSet controller knows it: it replaces at once, beside the budget, what it takes for
 * unavailable, and its own view may be half a minute older than ours once the API server was away
 * (docs/decisions/0013).
 */
function allLivingServed(
  { standing, complete, intent, ...input }: RolloutInput,
  daemonSet: DaemonSetState,
): boolean {
  if (standing === undefined) return false;
  const { served, failed, stuck, total } = standing;
  const excused = intent === "hold" || complete;
  const tolerated = excused
    ? failed + stuck
    : intent === "release" || tooManyFailed(standing, input)
      ? 0
      : failed;
  const enough = served + unavailableFor(standing) + tolerated === total;
  return enough && Math.min(daemonSet.updated, provedBy(daemonSet)) >= served;
}

/**
 * Every node that can be served has the template, available: only now may the next change follow.
 */
function nextAfterServed(input: RolloutInput, daemonSet: DaemonSetState, odd: number): Turn {
  const { standing, restSeconds } = input;
  const strategy: Strategy = { stage: "wave", maxUnavailable: input.maxUnavailable };
  if (input.pending || input.published !== daemonSet.template) {
    const broken = standing === undefined ? odd : brokenFor(standing);
    const spared =
      input.pending &&
      input.wanted === "apply" &&
      daemonSet.template > 0 &&
      input.intent !== "hold";
    if (spared && restSeconds > 0)
      return {
        ...wait("interval", strategy, "the rollout before began too short a time ago", restSeconds),
        served: true,
      };
    const reason =
      daemonSet.template === 0 ? "every agent is ready" : "every node has the revision before";
    return { ...roll(input, daemonSet, broken, reason), served: true };
  }
  if (input.intent === "hold")
    return wait("held", everyNode, "every node keeps what it has", Math.max(1, input.retrySeconds));
  const reason =
    odd === 0 ? "every node has it" : `every node has it but ${odd} that cannot be served`;
  return { kind: "served", strategy, reason, again: undefined };
}

/**
 * Stops a wave. What contains a revision is the Secret: a pod applies its own revision only, so
 * from the reply on no node begins it. A withdrawn credential is never held to an older document:
 * its wave only stands (docs/decisions/0022).
 */
function halt(
  input: RolloutInput,
  daemonSet: DaemonSetState,
  kept: Strategy,
  why: "failed" | "outage",
): Turn {
  const reason = why === "failed" ? "nodes failed with it" : "too many nodes are out of reach";
  const held =
    input.intent === "hold" || daemonSet.template === 0 || input.published !== daemonSet.template;
  const reached = input.complete || (why === "outage" && daemonSet.updated === daemonSet.desired);
  if (input.intent === "apply" && !held && !reached)
    return { kind: "roll", revision: "published", strategy: everyNode, reason, halt: why };
  const phase = why === "failed" ? "halted" : "outage";
  const told = why === "failed" ? { halt: why } : {};
  return {
    ...wait(phase, kept, reason, why === "failed" ? haltedPause : stallLimit(input)),
    ...told,
  };
}

/** Nodes have failed newly, or nothing moves any more but what is stuck. */
function isHalted(input: RolloutInput): boolean {
  const { standing } = input;
  if (standing === undefined) return false;
  return tooManyFailed(standing, input) || (standing.stuck > 0 && standing.moving === 0);
}

/**
 * Waiting would not help: stuck nodes are excused in time, but only where others have the template.
 */
function isHopeless(input: RolloutInput): boolean {
  const { standing } = input;
  if (standing === undefined) return false;
  return tooManyFailed(standing, input) || standing.served === 0;
}

function carryOn(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { standing } = input;
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
  if (input.maxUnavailable === "100%") return wait(phase("wave"), kept, progress, again);
  const odd =
    standing && unavailableFor(standing) + (tooManyFailed(standing, input) ? 0 : standing.failed);
  const proved = daemonSet.stage === "wave" || isProved(input, daemonSet);
  if (!proved) {
    const strategy =
      odd === undefined ? kept : raisedBy({ stage: "canary", maxUnavailable: 1 }, odd, daemonSet);
    // The counters may say nothing more until the next node's false Ready, which must stand as
    // well.
    return wait(
      phase("canary"),
      strategy,
      `one node first: ${progress}`,
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
    odd === undefined ? kept : raisedBy(wave, odd, daemonSet),
    progress,
    again,
  );
}

/**
 * At least one pod of the template is available. From the counters alone: there are more updated
 * nodes than unavailable ones. A survey says it directly, which is needed when odd nodes are
 * unavailable all the time.
 */
function isProved(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  if (input.standing !== undefined && tooManyFailed(input.standing, input)) return false;
  const counted = daemonSet.updated > daemonSet.desired - daemonSet.available;
  return hasStood(input) && (counted || (input.standing?.served ?? 0) > 0);
}

const phaseOf = (daemonSet: DaemonSetState): Phase =>
  daemonSet.template === 0 ? "birth" : daemonSet.stage;

function wait(
  phase: Phase,
  strategy: Strategy,
  reason: string,
  again: number,
): Turn & { kind: "wait" } {
  return { kind: "wait", phase, strategy, reason, again };
}

function roll(
  input: RolloutInput,
  daemonSet: DaemonSetState,
  odd: number,
  reason: string,
): Turn & { kind: "roll" } {
  return { kind: "roll", revision: "published", strategy: first(input, daemonSet, odd), reason };
}

function first(
  { wanted, maxUnavailable }: RolloutInput,
  daemonSet: DaemonSetState,
  odd: number,
): Strategy {
  return wanted === "hold" ? everyNode : raisedBy(firstStrategy(maxUnavailable), odd, daemonSet);
}
