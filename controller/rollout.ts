/**
 * How a revision reaches the nodes. Pure: what is seen → the one next turn and its reason. The DaemonSet controller does the
 * replacing; we choose its template and how many nodes it may take at a time:
 *
 *   birth (revision 0, touches nothing) → canary (one node) → wave (the budget) → served
 *
 * What makes it safe is written at each rule. The rules about available pods follow kubernetes/pkg/controller/daemon/update.go.
 */
import type { Standing } from "./nodes.ts";

export type DaemonSetView = Readonly<{
  /** Revision in the template; 0 at birth. */
  template: number;
  /** Someone else edited the spec, or we would now write another one (an upgrade of the agent). */
  drifted: boolean;
  stage: "canary" | "wave";
  maxUnavailable: number | string;
  /** The status was made for the present spec. */
  observed: boolean;
  /** From the status: nodes that should have an agent; that have one of this template; whose agent is available. */
  desired: number;
  updated: number;
  available: number;
}>;

export type RolloutInput = Readonly<{
  /** Revision of global-pull-secret as it stands. */
  published: number;
  /** What should be published differs from what is. */
  pending: boolean;
  /** global-pull-secret is missing or was edited by someone else: agents find nothing that they should use. */
  lost: boolean;
  daemonSet: DaemonSetView | undefined;
  /** Seconds since the DaemonSet's counters last changed. */
  quietSeconds: number;
  /** A look before this one found the template's revision halted. */
  haltKnown: boolean;
  /** How long a restarted kubelet is on trial. */
  trialSeconds: number;
  /** Read on request only. */
  standing: Standing | undefined;
  maxUnavailable: number | string;
}>;

/** How the template is to be brought to the nodes. */
export type Strategy = Readonly<{
  stage: "canary" | "wave";
  /** A number of nodes or a percentage, as Kubernetes writes it. */
  maxUnavailable: number | string;
}>;

export type Turn =
  /** Read nodes and pods, then decide again. */
  | Readonly<{ kind: "survey" }>
  /** Publish what is pending, then give the template this revision (or the published one) and this strategy. */
  | Readonly<{ kind: "roll"; revision: "published" | number; strategy: Strategy; reason: string }>
  /** Leave the template; set the strategy if it differs. `again`: seconds. */
  | Readonly<{ kind: "wait"; phase: Phase; strategy: Strategy; reason: string; again: number | undefined }>
  | Readonly<{ kind: "served"; strategy: Strategy; reason: string }>;

type Phase = "birth" | "canary" | "wave" | "halted";

/** Pod, container, restart and some air: what a node takes besides the trial. */
const besidesTrial = 8;
/** A revision that is known to have halted must give way at once when it is corrected. */
const quietWhenHalted = 2;
/** Nobody but an administrator, or a node's own recovery, which shows in the counters, ends a halt. */
const haltedPause = 30;

/**
 * Seconds of silence after which it is worth reading nodes and pods. A healthy wave changes the counters more often than that;
 * a survey of 5,000 nodes reads 25 MB, so one for each node that is on trial would be ruinous.
 */
function quietLimit({ pending, haltKnown, trialSeconds }: RolloutInput): number {
  return pending && haltKnown ? quietWhenHalted : trialSeconds + besidesTrial;
}

export function decide(input: RolloutInput): Turn {
  const { daemonSet, published, pending } = input;
  const fast = input.maxUnavailable === "100%";
  const first: Strategy = fast ? { stage: "wave", maxUnavailable: "100%" } : { stage: "canary", maxUnavailable: 1 };
  if (daemonSet === undefined) {
    const reason = fast
      ? "born at its revision: the budget is every node"
      : "born at revision 0, which touches nothing";
    return { kind: "roll", revision: fast ? "published" : 0, strategy: first, reason };
  }
  const kept: Strategy = { stage: daemonSet.stage, maxUnavailable: daemonSet.maxUnavailable };
  if (input.lost) {
    return {
      kind: "roll",
      revision: daemonSet.template === 0 ? 0 : "published",
      strategy: first,
      reason: "global-pull-secret was lost or edited",
    };
  }
  if (daemonSet.drifted) {
    // The same revision: agents are replaced, kubelets are not restarted. Still one node first: an image can be broken.
    return {
      kind: "roll",
      revision: daemonSet.template,
      strategy: first,
      reason: "the template is not the declared one",
    };
  }
  if (!daemonSet.observed) {
    return {
      kind: "wait",
      phase: phaseOf(daemonSet),
      strategy: kept,
      reason: "not yet seen by the DaemonSet controller",
      again: quietLimit(input),
    };
  }
  const all = daemonSet.updated === daemonSet.desired && daemonSet.available === daemonSet.desired;
  if (!all && input.standing === undefined && isWorthASurvey(input, daemonSet)) return { kind: "survey" };
  const dead = all ? 0 : input.standing?.dead;
  if (all || (input.standing !== undefined && allLivingServed(input.standing, daemonSet))) {
    return nextAfterServed(input, daemonSet, dead ?? 0, first);
  }
  const failed = (input.standing?.failed ?? 0) > 0;
  const halted = failed || ((input.standing?.stuck ?? 0) > 0 && input.standing?.moving === 0);
  if (daemonSet.template > 0 && published > daemonSet.template) {
    // We stopped between Secret and template: a pod of the old revision that starts now would wait for ever.
    return roll(first, dead, "published, but not yet in the template");
  }
  if (pending && halted && daemonSet.template > 0) return roll(first, dead, "the halted revision gives way");
  return carryOn(input, daemonSet, { kept, dead, halted, failed, fast });
}

/** Every node that can be served has the template, available: only now may the next change follow. */
function nextAfterServed(input: RolloutInput, daemonSet: DaemonSetView, dead: number, first: Strategy): Turn {
  if (input.pending || input.published !== daemonSet.template) {
    return roll(first, dead, daemonSet.template === 0 ? "every agent is ready" : "every node has the revision before");
  }
  const strategy: Strategy = { stage: "wave", maxUnavailable: input.maxUnavailable };
  return {
    kind: "served",
    strategy,
    reason: dead === 0 ? "every node has it" : `every node has it but ${dead} not Ready`,
  };
}

type State = Readonly<{ kept: Strategy; dead: number | undefined; halted: boolean; failed: boolean; fast: boolean }>;

function carryOn(input: RolloutInput, daemonSet: DaemonSetView, { kept, dead, halted, failed, fast }: State): Turn {
  const again = halted ? haltedPause : quietLimit(input);
  const wait = (strategy: Strategy, reason: string): Turn => ({
    kind: "wait",
    phase: halted ? "halted" : daemonSet.template === 0 ? "birth" : strategy.stage,
    strategy,
    reason,
    again,
  });
  if (fast || daemonSet.template === 0)
    return wait(kept, `${daemonSet.available} of ${daemonSet.desired} agents available`);
  const progress = `${daemonSet.updated} of ${daemonSet.desired} nodes updated, ${daemonSet.available} available`;
  const proved = daemonSet.stage === "wave" || (!failed && isProved(input, daemonSet));
  if (!proved) {
    return wait(
      dead === undefined ? kept : withDead({ stage: "canary", maxUnavailable: 1 }, dead),
      `one node first: ${progress}`,
    );
  }
  if (daemonSet.stage === "canary") {
    const assumed = dead ?? Math.max(0, Number(daemonSet.maxUnavailable) - 1);
    return wait(waveStrategy(input, daemonSet, assumed), `the first node has proved it: ${progress}`);
  }
  return wait(dead === undefined ? kept : waveStrategy(input, daemonSet, dead), progress);
}

/**
 * At least one pod of the template is available. From the counters alone: there are more updated nodes than unavailable
 * ones. A survey says it directly, which is needed when dead nodes are unavailable all the time.
 */
function isProved(input: RolloutInput, daemonSet: DaemonSetView): boolean {
  return daemonSet.updated > daemonSet.desired - daemonSet.available || (input.standing?.served ?? 0) > 0;
}

function isWorthASurvey(input: RolloutInput, daemonSet: DaemonSetView): boolean {
  const unavailable = daemonSet.desired - daemonSet.available;
  const raised = Number(daemonSet.maxUnavailable) - 1;
  // With d dead nodes the counters never prove the canary; but when all that are unavailable may be dead, one may have.
  const mayBeDead = unavailable > 0 && unavailable <= raised;
  const canary = daemonSet.stage === "canary" && daemonSet.template > 0 && daemonSet.updated > 0 && mayBeDead;
  return canary || input.quietSeconds >= quietLimit(input);
}

/**
 * And the DaemonSet controller knows it: it replaces at once, beside the budget, what it takes for unavailable, and its own view
 * may be half a minute older than ours once the API server was away (docs/decisions/0013).
 */
function allLivingServed({ served, dead, total }: Standing, { updated, available }: DaemonSetView): boolean {
  return served + dead === total && Math.min(updated, available) >= served;
}

const phaseOf = (daemonSet: DaemonSetView): Phase => (daemonSet.template === 0 ? "birth" : daemonSet.stage);

function roll(first: Strategy, dead: number | undefined, reason: string): Turn {
  return { kind: "roll", revision: "published", strategy: withDead(first, dead ?? 0), reason };
}

/** A dead node's agent is unavailable and would eat the budget for ever: it is added, and taken back when it returns. */
function withDead(strategy: Strategy, dead: number): Strategy {
  if (dead === 0 || typeof strategy.maxUnavailable !== "number") return strategy;
  return { ...strategy, maxUnavailable: strategy.maxUnavailable + dead };
}

function waveStrategy(input: RolloutInput, daemonSet: DaemonSetView, dead: number): Strategy {
  const budget = dead === 0 ? input.maxUnavailable : budgetNodes(input.maxUnavailable, daemonSet.desired) + dead;
  return { stage: "wave", maxUnavailable: budget };
}

/** The budget in nodes, rounded up and at least 1, as the DaemonSet controller does. */
export function budgetNodes(budget: number | string, desired: number): number {
  const nodes = typeof budget === "number" ? budget : Math.ceil((Number.parseInt(budget, 10) * desired) / 100);
  return Math.max(1, nodes);
}
