/** When nodes and pods are worth reading: 5,000 of them are 25 MB. */
import { brokenFor } from "./excuses.ts";
import { budgetNodes } from "./strategy.ts";
import type { DaemonSetView, RolloutInput } from "./turn.ts";

/** Pod, container, restart and some air: what a node takes besides the trial. */
const besidesTrial = 8;
/** A revision that is known to have halted must give way at once when it is corrected. */
const quietWhenHalted = 2;
/** For so long at most nodes that have returned leave their slots to others (docs/decisions/0021). */
const raisedSeconds = 30;

/** Seconds of silence after which nodes and pods are read. A healthy wave changes the counters more often than that. */
export function quietLimit({ pending, haltKnown, trialSeconds }: RolloutInput): number {
  return pending && haltKnown ? quietWhenHalted : trialSeconds + besidesTrial;
}

export function isWorthASurvey(input: RolloutInput, daemonSet: DaemonSetView): boolean {
  const { desired, available, updated, template } = daemonSet;
  const unavailable = desired - available;
  const most = budgetNodes(daemonSet.maxUnavailable, desired);
  const budget = budgetNodes(input.maxUnavailable, desired);
  if (input.suspicious || input.quietSeconds >= quietLimit(input)) return true;
  if (template === 0) return false;
  // With d odd nodes the counters never prove the canary; but when all that are unavailable may be odd, one may have.
  const mayBeOdd = unavailable > 0 && unavailable <= most - 1;
  if (daemonSet.stage === "canary" && updated > 0 && mayBeOdd) return true;
  const raised = daemonSet.stage === "wave" && typeof daemonSet.maxUnavailable === "number" && most > budget;
  if (raised && input.surveySeconds >= raisedSeconds) return true;
  // Far more than a wave can take: an outage.
  return unavailable > most + Math.max(1, budget);
}

/**
 * The DaemonSet controller takes no more agents for unavailable than it may, apart from those that a survey says are of no use
 * anyway. What is younger than a minute may come back and be taken from its node by a new template.
 */
export function isCalm({ standing }: RolloutInput, daemonSet: DaemonSetView): boolean {
  const { desired, available, template } = daemonSet;
  if (template === 0) return true;
  const broken = standing === undefined ? 0 : brokenFor(standing);
  const out = standing !== undefined && standing.out > Math.max(1, Math.floor(standing.total / 3));
  return !out && desired - available - broken <= budgetNodes(daemonSet.maxUnavailable, desired);
}

/** What is known of nodes may be so old, in seconds, while the counters stand still. */
export function surveyPause(transient: number, pending: boolean): number {
  if (transient > 0) return 10;
  return pending ? raisedSeconds : 300;
}

/** Seconds between two looks for agents that have ended: a list of 5,000 pods as rows is 2 MB. */
export function glancePause(desired: number): number {
  return Math.max(10, desired / 100);
}
