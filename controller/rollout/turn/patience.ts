/** When nodes and pods are worth reading: 5,000 of them are 25 MB. */
import { guardSeconds } from "#contract/names.ts";
import { brokenFor } from "./excuses.ts";
import { budgetNodes, slotsOf } from "./strategy.ts";
import type { DaemonSetState, RolloutInput } from "./turn.ts";

/** Seconds that a node takes besides the probation: pod, container, restart and some slack. */
const besidesProbation = 8;
/** Seconds, where the revision is known to have halted: its correction should go out at once. */
const stallWhenHalted = 2;
/** Longest time that slots of nodes which have returned serve others (docs/decisions/0021). */
const raisedSeconds = 30;
/** Least seconds between two surveys. */
export const leastSeconds = 2;

/**
 * Seconds of silence after which nodes and pods are read. A healthy wave changes the counters more
 * often than that.
 */
export function stallLimit({ pending, haltKnown, probationSeconds }: RolloutInput): number {
  return pending && haltKnown ? stallWhenHalted : probationSeconds + besidesProbation;
}

export function isWorthASurvey(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  if (input.suspicious || input.stallSeconds >= stallLimit(input)) return true;
  if (daemonSet.template === 0) return false;
  if (isAwaited(input)) return true;
  if (daemonSet.stage === "canary" && mayBeProved(input, daemonSet)) return true;
  const slots = slotsOf(daemonSet, input);
  const isRaised = daemonSet.stage === "wave" && slots > 0;
  if (isRaised && (input.surveySeconds >= raisedSeconds || mayBeOver(daemonSet, slots)))
    return true;
  return mayBeOutage(input, daemonSet);
}

/**
 * A change waits for nothing but the word that the agents that are missing are of no use anyway.
 */
function isAwaited({ pending, complete, restSeconds, wanted }: RolloutInput): boolean {
  return pending && complete && (restSeconds === 0 || wanted !== "apply");
}

/**
 * With odd nodes the counters never prove the canary. When all that are unavailable may be odd it
 * may be available. When there is one more, the DaemonSet controller may have taken the next node
 * before the canary's Ready had stood: whoever looked too early looks once more.
 */
function mayBeProved(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  const { desired, available, updated } = daemonSet;
  const unavailable = desired - available;
  const slots = slotsOf(daemonSet, input);
  if (slots === 0 || updated === 0 || unavailable === 0) return false;
  if (unavailable <= slots) return true;
  const isNext = unavailable === slots + 1 && updated > slots;
  return isNext && hasStood(input) && lookedTooEarly(input) && input.surveySeconds >= leastSeconds;
}

/** Nodes and pods were read after the latest Ready, and before that had stood. */
function lookedTooEarly({ readySeconds, surveySeconds }: RolloutInput): boolean {
  const stood = readySeconds - surveySeconds;
  return stood >= 0 && stood < guardSeconds;
}

/**
 * No more agents are missing, nor of another template, than there are slots for nodes that are odd.
 */
function mayBeOver({ desired, available, updated }: DaemonSetState, slots: number): boolean {
  return desired - available <= slots && desired - updated <= slots;
}

/** Far more agents are missing than a wave can take. */
function mayBeOutage(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  const { desired, available, maxUnavailable } = daemonSet;
  const budget = budgetNodes(input.maxUnavailable, desired);
  return desired - available > budgetNodes(maxUnavailable, desired) + budget;
}

/**
 * Availability is reckoned from the time that a node's kubelet gives for its Ready. One whose clock
 * is behind makes even a false Ready, which lasts a second at most, count at once: so that nobody
 * builds on it, it must have stood for as long as the guard is.
 */
export function hasStood(input: RolloutInput): boolean {
  return standsIn(input) === 0;
}

/** Seconds until the latest Ready has stood. */
export function standsIn({ readySeconds, stallSeconds }: RolloutInput): number {
  return Math.max(0, guardSeconds - Math.max(readySeconds, stallSeconds));
}

/** Seconds until the canary is worth another look whatever the counters do; 0 when it is not. */
export function canaryPause(input: RolloutInput, daemonSet: DaemonSetState): number {
  const surveySeconds = input.standing === undefined ? input.surveySeconds : 0;
  const again = slotsOf(daemonSet, input) > 0 && lookedTooEarly({ ...input, surveySeconds });
  return Math.max(standsIn(input), again ? leastSeconds - surveySeconds : 0);
}

/**
 * The DaemonSet controller takes no more agents for unavailable than it may, apart from those that
 * a survey says are of no use anyway. What is younger than a minute may come back and be taken from
 * its node by a new template.
 */
export function isCalm({ standing }: RolloutInput, daemonSet: DaemonSetState): boolean {
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
