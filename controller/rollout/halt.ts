/**
 * What is recorded of a revision before anything is granted: the canary's word, failures, a retry,
 * a halt. Pure.
 *
 * A halt is recorded before any grant is taken back, so that a controller that is killed between
 * the two does not grant anything else.
 */
import type { Grant } from "#contract/grant.ts";
import {
  holdsNewest,
  mostListed,
  namesSlot,
  type StateFacts,
  type PodRecord,
  type NewerContent,
} from "./facts.ts";
import type { SurveyedPod, Survey } from "./survey.ts";
import { type GrantState, isAway } from "./node-state.ts";

/** Records what became known. `failed`: uids of Nodes that failed without a pod. */
export function recordOutcomes(survey: Survey, failed: readonly string[]): void {
  const before = survey.state;
  // Before a word: that of another node does not excuse a canary that is gone.
  const lost = survey.isRelease() ? [] : lostCanary(survey);
  if (!before.word) recordProof(survey);
  if (!survey.isRelease()) {
    const found = [...failed, ...lost, ...failedPods(survey)];
    const known = new Set(survey.state.failed);
    const news = new Set(found.filter((uid) => !known.has(uid)));
    const room = mostListed - before.failed.length;
    if (news.size > 0 && room > 0)
      survey.change({ failed: [...before.failed, ...[...news].slice(0, room)] });
  }
  forgetCanary(survey);
  if (survey.state !== before) survey.save();
}

/** With the word of a canary, the pods that exist at this moment become those that must prove. */
function recordProof(survey: Survey): void {
  const { revision } = survey.secret;
  const isWord = ({ pod, grantState }: SurveyedPod): boolean =>
    grantState.is === "proved" && pod.grant?.revision === revision && pod.grant.word;
  if (!survey.pods.some(isWord)) return;
  survey.change({ word: true, base: latestOf(survey) });
}

/** The highest creation time of the pods that exist. */
const latestOf = (survey: Survey): number =>
  survey.pods.reduce((latest, { pod }) => Math.max(latest, pod.created), -1);

/** A canary that disappears with its Node has failed: the content may have broken it. */
function lostCanary(survey: Survey): readonly string[] {
  const { canary, word } = survey.state;
  if (canary === undefined || word) return [];
  const found = survey.byNode.get(canary.node);
  if (found !== undefined && holdsNewest(found.pod, survey.secret)) return [];
  const isGone = survey.isGone(canary.node, Number.POSITIVE_INFINITY);
  const uid = survey.snapshot.nodes.byName.get(canary.node)?.uid;
  if (isGone === undefined || uid === canary.uid) return [];
  survey.change({ canary: undefined });
  return [canary.uid];
}

/** A canary that refused, or whose grant is refused, has begun nothing: its Node may go. */
function forgetCanary(survey: Survey): void {
  const { canary, word } = survey.state;
  if (canary === undefined || word) return;
  const found = survey.byNode.get(canary.node);
  if (found === undefined || !survey.isExcused(found)) return;
  const { pod, grantState } = found;
  if (holdsNewest(pod, survey.secret) ? isRefusedByWord(grantState) : grantState.is !== "excused")
    survey.change({ canary: undefined });
}

function failedPods(survey: Survey): readonly string[] {
  const lost = retriedNodes(survey.state);
  // A word of before the retry stays until the node is granted the content again.
  const isNews = (one: SurveyedPod): boolean =>
    holdsNewest(one.pod, survey.secret) ||
    (one.pod.grant === undefined && !isRetried(survey, lost, one));
  return survey.pods
    .filter((one) => one.grantState.is === "failed" && isNews(one))
    .map(({ pod }) => survey.uidOf(pod))
    .filter((uid) => uid !== undefined);
}

/** Follows a retry, or records a halt. True if this is all for now. */
export function retryOrHalt(survey: Survey): boolean {
  const { snapshot, state } = survey;
  if (snapshot.retry !== state.retry) {
    survey.change({ retry: snapshot.retry, halted: false, lost: state.failed, failed: [] });
    survey.save();
    return true;
  }
  // Promoted content is proved. A node that fails later, perhaps a month later, says nothing about
  // the others, and nodes that return must be granted it.
  if (survey.isPromoted()) {
    if (!state.halted) return false;
    survey.change({ halted: false });
    survey.save();
    return true;
  }
  const isTooMany = state.failed.length > snapshot.policy.maxFailures;
  if (survey.isRelease() || state.halted || !isTooMany) return false;
  survey.change({ halted: true });
  survey.actions.push({ kind: "halt", state: survey.state });
  return true;
}

const isRefusedByWord = (grantState: GrantState): boolean =>
  grantState.is === "excused" &&
  (grantState.because === "unfit" || grantState.because === "behind");

/**
 * Takes grants back: after a halt all that are unproved or have failed; otherwise those of failed
 * and excused nodes, which then wait for ten minutes, and those that cannot be fulfilled, whose
 * nodes wait for nothing. A withdrawal replaces a grant instead.
 */
export function takeGrantsBack(survey: Survey): void {
  const { halted } = survey.state;
  const isReplacing = survey.isRelease() && survey.snapshot.wanted.intent === "release";
  for (const one of survey.pods) {
    const { pod, record, grantState } = one;
    if (pod.grant === undefined || pod.grant.revision === 0 || pod.isDeleting) continue;
    const isHalted =
      halted &&
      (grantState.is === "unproved" ||
        (grantState.is === "failed" && holdsNewest(pod, survey.secret)));
    // What was proved stays granted, whatever became of its agent later. An older grant goes: if no
    // slot has its content any more, the agent could not become Ready.
    // A grant that the agent has refused goes as well: it stays dead until there is another one.
    const isKept =
      record.isSettled &&
      !isRefusedByWord(grantState) &&
      (survey.isRelease() || holdsNewest(pod, survey.secret));
    const isOver =
      (grantState.is === "excused" && !isKept) ||
      (grantState.is === "failed" && !survey.isRelease());
    const isVoid =
      grantState.is === "unproved" && !isReplacing && !namesSlot(pod.grant, survey.secret);
    if (!isHalted && !isOver && !isVoid) continue;
    if (!survey.mayPatch(record)) continue;
    const digest = isHalted || isVoid ? "" : String(pod.grant.revision);
    const grant: Grant = { revision: 0, digest, since: pod.ready.since, word: false };
    survey.actions.push({ kind: "take-back", pod, grant });
    survey.written.add(pod.uid);
    if (grantState.is === "failed" || grantState.is === "excused") {
      const over = { revision: pod.grant.revision, ...grantState };
      const failures =
        grantState.is === "failed" ? failuresOf(one, pod.grant.revision) : record.failures;
      survey.records.set(pod.uid, { ...record, over, failures });
    }
  }
}

/** Its failures with this one. A patch that is sent again counts once. */
function failuresOf(
  { record: { failures, grant } }: SurveyedPod,
  revision: number,
): PodRecord["failures"] {
  const before = failures?.revision === revision ? failures : undefined;
  if (before?.grant === grant) return before;
  return { revision, grant, count: (before?.count ?? 0) + 1 };
}

/** Whether the Node's failure is the reason for the present retry: it is granted first. */
export const isRetried = (survey: Survey, lost: ReadonlySet<string>, one: SurveyedPod): boolean => {
  if (lost.size === 0) return false;
  const uid = survey.uidOf(one.pod);
  return uid !== undefined && lost.has(uid);
};

export const retriedNodes = ({ lost }: StateFacts): ReadonlySet<string> => new Set(lost);

/**
 * Promotes once the canary gave its word, and every pod that existed at that moment has proved the
 * content, is excused, or has failed. Nodes that joined later do not delay it, so a rollout ends
 * however many nodes join. Those that joined before the promotion hold something older, and are
 * awaited until the rollout is reported as over.
 */
export function promote(survey: Survey, { cause, waitsFor }: NewerContent): void {
  const { state } = survey;
  if (survey.isRelease()) return;
  if (survey.isPromoted()) return endWait(survey);
  if (!state.word || state.halted) return;
  // Newer content may lack a source, or may have lacked it for a while, so this also holds while it
  // waits for an interval or for the end of a pause. New nodes are granted what is published.
  if (cause !== undefined || waitsFor !== undefined) return;
  if (!hasAll(survey, state.base)) return;
  // Saved first: a controller that is killed in between only saves it again.
  keepWait(survey, hasAll(survey, Infinity) ? -1 : latestOf(survey));
  survey.actions.push({ kind: "promote" });
}

function endWait(survey: Survey): void {
  if (survey.state.awaited >= 0 && hasAll(survey, survey.state.awaited)) keepWait(survey, -1);
}

function keepWait(survey: Survey, awaited: number): void {
  if (survey.state.awaited === awaited) return;
  survey.change({ awaited });
  survey.save();
}

/** True if no pod of this age or older holds up the rollout. */
const hasAll = (survey: Survey, created: number): boolean =>
  survey.pods.every((one) => one.pod.created > created || isDone(survey, one));

/** True if the rollout does not wait for this pod. */
function isDone(survey: Survey, one: SurveyedPod): boolean {
  if (survey.granted.has(one.pod.uid)) return false;
  const { grantState } = one;
  if (grantState.is === "proved" && holdsNewest(one.pod, survey.secret)) return true;
  if (grantState.is === "failed" || survey.isExcused(one)) return true;
  // A node that has proved older content is granted this when it is back.
  return isAway(one.record, survey.now) || isTakenBack(survey, one);
}

/** Excused or failed, and its grant was taken back. A retry waits for the node once more. */
function isTakenBack(survey: Survey, one: SurveyedPod): boolean {
  const { grant } = one.pod;
  if (grant?.revision !== 0 || grant.digest !== String(survey.secret.revision)) return false;
  return one.grantState.is !== "back" && !isRetried(survey, retriedNodes(survey.state), one);
}
