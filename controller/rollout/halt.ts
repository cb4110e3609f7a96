/**
 * The outcomes of a revision: the canary's proof, failures, a retry, a halt, and the promotion.
 * Pure.
 *
 * A halt is recorded before any grant is revoked. If the controller is killed in between, the next
 * controller finds the halt and grants nothing.
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

/**
 * Records new outcomes. `failed`: uids of Nodes whose pod was deleted while it held a grant, and
 * whose next pod did not turn Ready in time (`settlePlaces`).
 */
export function recordOutcomes(survey: Survey, failed: readonly string[]): void {
  const before = survey.state;
  // Look for a lost canary before looking for a proof: a lost canary counts as a failure, even if
  // another node has proved the content.
  const lost = survey.isRelease() ? [] : lostCanary(survey);
  if (!before.word) recordProof(survey);
  if (!survey.isRelease()) {
    const failedUids = [...failed, ...lost, ...failedPods(survey)];
    const recorded = new Set(survey.state.failed);
    const news = new Set(failedUids.filter((uid) => !recorded.has(uid)));
    const room = mostListed - before.failed.length;
    if (news.size > 0 && room > 0)
      survey.change({ failed: [...before.failed, ...[...news].slice(0, room)] });
  }
  forgetCanary(survey);
  if (survey.state !== before) survey.save();
}

/**
 * Records the canary's proof. Before the promotion, all pods that exist at this moment must prove
 * the content too.
 */
function recordProof(survey: Survey): void {
  const { revision } = survey.secret;
  const isProof = ({ pod, grantState }: SurveyedPod): boolean =>
    grantState.is === "proved" && pod.grant?.revision === revision && pod.grant.word;
  if (!survey.pods.some(isProof)) return;
  survey.change({ word: true, base: latestOf(survey) });
}

/** The highest creation time of the pods that exist. */
const latestOf = (survey: Survey): number =>
  survey.pods.reduce((latest, { pod }) => Math.max(latest, pod.created), -1);

/**
 * A canary that disappears together with its Node has failed, because the content might have broken
 * the Node.
 */
function lostCanary(survey: Survey): readonly string[] {
  const { canary, word } = survey.state;
  if (canary === undefined || word) return [];
  const surveyed = survey.byNode.get(canary.node);
  if (surveyed !== undefined && holdsNewest(surveyed.pod, survey.secret)) return [];
  const isGone = survey.isGone(canary.node, Number.POSITIVE_INFINITY);
  const uid = survey.snapshot.nodes.byName.get(canary.node)?.uid;
  if (isGone === undefined || uid === canary.uid) return [];
  survey.change({ canary: undefined });
  return [canary.uid];
}

/**
 * Forgets a canary that refused its grant, or whose grant admission refuses. Such a canary has
 * changed nothing, so it is not a failure if its Node disappears.
 */
function forgetCanary(survey: Survey): void {
  const { canary, word } = survey.state;
  if (canary === undefined || word) return;
  const surveyed = survey.byNode.get(canary.node);
  if (surveyed === undefined || !survey.isExcused(surveyed)) return;
  const { pod, grantState } = surveyed;
  if (holdsNewest(pod, survey.secret) ? isReportedRefusal(grantState) : grantState.is !== "excused")
    survey.change({ canary: undefined });
}

function failedPods(survey: Survey): readonly string[] {
  const lost = retriedNodes(survey.state);
  // The termination message of an earlier failure stays until the node is granted the content
  // again. So during a retry this message is not a new failure.
  const isNews = (surveyed: SurveyedPod): boolean =>
    holdsNewest(surveyed.pod, survey.secret) ||
    (surveyed.pod.grant === undefined && !isRetried(survey, lost, surveyed));
  return survey.pods
    .filter((surveyed) => surveyed.grantState.is === "failed" && isNews(surveyed))
    .map(({ pod }) => survey.uidOf(pod))
    .filter((uid) => uid !== undefined);
}

/**
 * Begins a requested retry if no pause delays the retry, or records a halt. Returns true if this
 * ends the decision.
 */
export function retryOrHalt(survey: Survey): boolean {
  const { snapshot, state } = survey;
  if (snapshot.retry !== state.retry && !survey.isPaused()) {
    survey.change({ retry: snapshot.retry, halted: false, lost: state.failed, failed: [] });
    survey.save();
    return true;
  }
  // Promoted content is proved, so a node that fails later, perhaps after a month, causes no halt.
  // During a halt, nodes that return would get no grant.
  if (survey.isPromoted()) return false;
  const isTooMany = state.failed.length > snapshot.policy.maxFailures;
  if (survey.isRelease() || state.halted || !isTooMany) return false;
  survey.change({ halted: true });
  survey.actions.push({ kind: "halt", state: survey.state });
  return true;
}

const isReportedRefusal = (grantState: GrantState): boolean =>
  grantState.is === "excused" &&
  (grantState.because === "unfit" || grantState.because === "behind");

/**
 * Revokes the grants that no agent can ever apply, and the grants of failed and excused nodes,
 * which then wait for at least ten minutes. After a halt, also revokes all unproved grants. A
 * withdrawal replaces grants instead of revoking them.
 */
export function takeGrantsBack(survey: Survey): void {
  const { halted } = survey.state;
  const isReplacing = survey.isRelease() && survey.snapshot.target.intent === "release";
  for (const surveyed of survey.pods) {
    const { pod, record, grantState } = surveyed;
    if (pod.grant === undefined || pod.grant.revision === 0 || pod.isDeleting) continue;
    const isHalted =
      halted &&
      (grantState.is === "unproved" ||
        (grantState.is === "failed" && holdsNewest(pod, survey.secret)));
    // A proved grant stays, whatever happens to its agent later. But a grant of older content is
    // revoked, because the Secret might not contain that content any more, and the agent could then
    // never become Ready. A grant that the agent has refused is also revoked, because the agent
    // needs a new grant to act again.
    const isKept =
      record.isSettled &&
      !isReportedRefusal(grantState) &&
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
        grantState.is === "failed" ? failuresOf(surveyed, pod.grant.revision) : record.failures;
      survey.records.set(pod.uid, { ...record, over, failures });
    }
  }
}

/** The pod's failures, including this failure. A patch that is sent twice counts as one failure. */
function failuresOf(
  { record: { failures, grant } }: SurveyedPod,
  revision: number,
): PodRecord["failures"] {
  const before = failures?.revision === revision ? failures : undefined;
  if (before?.grant === grant) return before;
  return { revision, grant, count: (before?.count ?? 0) + 1 };
}

/** Whether the present retry begins with this Node, because the Node had failed. */
export const isRetried = (
  survey: Survey,
  lost: ReadonlySet<string>,
  surveyed: SurveyedPod,
): boolean => {
  if (lost.size === 0) return false;
  const uid = survey.uidOf(surveyed.pod);
  return uid !== undefined && lost.has(uid);
};

export const retriedNodes = ({ lost }: StateFacts): ReadonlySet<string> => new Set(lost);

/**
 * Promotes the content when no pod is left to wait for: the canary has proved the content, and each
 * pod that existed at that time has proved the content too, has failed, or is excused. Nodes that
 * joined later do not delay the promotion, so a rollout ends however many nodes join. Nodes that
 * joined before the promotion have older content. The controller reports the rollout as complete
 * when these nodes have the content too.
 */
export function promote(survey: Survey, { cause, waitsFor }: NewerContent): void {
  const { state } = survey;
  if (survey.isRelease()) return;
  if (survey.isPromoted()) return endWait(survey);
  if (!state.word || state.halted) return;
  // Newer content might withdraw a source of the published content now, or might have withdrawn one
  // since the publication. So nothing is promoted while newer content waits for an interval or for
  // the end of a pause. During an interval, new nodes get the published content by grants.
  if (cause !== undefined || waitsFor !== undefined) return;
  if (!hasAll(survey, state.base)) return;
  // The state is saved before the promotion. If the controller is killed in between, the next
  // controller only saves the state again.
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

/** True if no pod that was created at or before this time delays the rollout. */
const hasAll = (survey: Survey, created: number): boolean =>
  survey.pods.every((surveyed) => surveyed.pod.created > created || isDone(survey, surveyed));

/** True if the rollout does not wait for this pod. */
function isDone(survey: Survey, surveyed: SurveyedPod): boolean {
  if (survey.granted.has(surveyed.pod.uid)) return false;
  const { grantState } = surveyed;
  if (grantState.is === "proved" && holdsNewest(surveyed.pod, survey.secret)) return true;
  if (grantState.is === "failed" || survey.isExcused(surveyed)) return true;
  // An absent node that has proved older content is granted the newest content when it returns.
  return isAway(surveyed.record, survey.now) || isTakenBack(survey, surveyed);
}

/**
 * The pod is excused or failed, and its grant was revoked. During a retry, the rollout waits for
 * the node once more.
 */
function isTakenBack(survey: Survey, surveyed: SurveyedPod): boolean {
  const { grant } = surveyed.pod;
  if (grant?.revision !== 0 || grant.digest !== String(survey.secret.revision)) return false;
  return (
    surveyed.grantState.is !== "back" && !isRetried(survey, retriedNodes(survey.state), surveyed)
  );
}
