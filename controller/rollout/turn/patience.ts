/** When nodes and pods are worth reading: 5,000 of them are 25 MB. */
import { guardSeconds } from "#contract/names.ts";
import { brokenFor } from "./excuses.ts";
import { budgetNodes, slotsOf } from "./strategy.ts";
import type { DaemonSetState, RolloutInput } from "./turn.ts";

/** Seconds that a node takes besides the probation: pod, container, restart and some slack. */
const besidesProbation = 8;
/**
 * Stall limit in seconds of a revision that is known to have halted: its correction should go out
 * at once.
 */
const stallWhenHalted = 2;
/**
 * Most seconds for which slots of nodes that have returned serve other nodes (docs/decisions/0021).
 */
const raisedSeconds = 30;
/**
 * Seconds after an outage before which no template begins (docs/decisions/0047). In this time nodes
 * come back, and kubelets and the DaemonSet controller watch again: their tries are 60 s apart at
 * most (client-go's reflector: 30 s, twice that with jitter).
 */
const calmNeeded = 75;
/** Least seconds between two surveys. */
export const leastSeconds = 2;

/**
 * Seconds without a change of the counters after which nodes and pods are read. A healthy wave
 * changes them more often.
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
 * True when a change waits only for a survey to say that the missing agents cannot be served
 * anyway.
 */
function isAwaited({ pending, complete, intervalLeft, wanted }: RolloutInput): boolean {
  return pending && complete && (intervalLeft === 0 || wanted !== "apply");
}

/**
 * True when a survey may find the canary available. With odd nodes the counters never prove it. If
 * all unavailable agents may be odd, the canary may be available. If one more is unavailable, the
 * DaemonSet controller may have taken the next node before the canary's Ready had lasted; a survey
 * that came too early is then made once more.
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

/**
 * True when nodes and pods were read after the latest Ready, but before it had lasted long enough.
 */
function lookedTooEarly({ readySeconds, surveySeconds }: RolloutInput): boolean {
  const stood = readySeconds - surveySeconds;
  return stood >= 0 && stood < guardSeconds;
}

/** True when the missing agents, and those of another template, fit the slots for odd nodes. */
function mayBeOver({ desired, available, updated }: DaemonSetState, slots: number): boolean {
  return desired - available <= slots && desired - updated <= slots;
}

/** True when far more agents are missing than a wave can take. */
function mayBeOutage(input: RolloutInput, daemonSet: DaemonSetState): boolean {
  const { desired, available, maxUnavailable } = daemonSet;
  const budget = budgetNodes(input.maxUnavailable, desired);
  return desired - available > budgetNodes(maxUnavailable, desired) + budget;
}

/**
 * True when the latest Ready has lasted for the guard. Availability counts from the time that a
 * node's kubelet gives for Ready. If its clock is behind, even a false Ready, which lasts a second
 * at most, counts at once; nothing may build on that.
 */
export function hasStood(input: RolloutInput): boolean {
  return standsIn(input) === 0;
}

/** Seconds until the latest Ready has lasted for the guard. */
export function standsIn({ readySeconds, stallSeconds }: RolloutInput): number {
  return Math.max(0, guardSeconds - Math.max(readySeconds, stallSeconds));
}

/** Seconds until the canary is worth another look even if no counter changes; 0 when it is not. */
export function canaryPause(input: RolloutInput, daemonSet: DaemonSetState): number {
  const surveySeconds = input.counts === undefined ? input.surveySeconds : 0;
  const again = slotsOf(daemonSet, input) > 0 && lookedTooEarly({ ...input, surveySeconds });
  return Math.max(standsIn(input), again ? leastSeconds - surveySeconds : 0);
}

/** Seconds until an outage is long enough ago for a template to begin; 0 at once. */
export function calmIn({ calmSeconds, maxUnavailable }: RolloutInput): number {
  return maxUnavailable === "100%" ? 0 : Math.max(0, calmNeeded - calmSeconds);
}

/**
 * True when the DaemonSet controller counts no more agents as unavailable than the strategy allows,
 * apart from those that a survey calls broken. A pod younger than a minute is not broken: it may
 * become available, and a new template would take it from its node.
 */
export function isCalm({ counts }: RolloutInput, daemonSet: DaemonSetState): boolean {
  const { desired, available, template } = daemonSet;
  if (template === 0) return true;
  const broken = counts === undefined ? 0 : brokenFor(counts);
  const out = counts !== undefined && counts.out > Math.max(1, Math.floor(counts.total / 3));
  return !out && desired - available - broken <= budgetNodes(daemonSet.maxUnavailable, desired);
}

/**
 * Most seconds that a survey may be old while the counters stand still. `transient`: how many nodes
 * are moving or stuck.
 */
export function surveyPause(transient: number, pending: boolean): number {
  if (transient > 0) return 10;
  return pending ? raisedSeconds : 300;
}

/** Seconds between two lists of ended agents. As rows, a list of 5,000 pods is 2 MB. */
export function glancePause(desired: number): number {
  return Math.max(10, desired / 100);
}
