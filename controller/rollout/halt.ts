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
  type Seen,
  type Newer,
} from "./facts.ts";
import type { JudgedPod, Look } from "./survey.ts";
import { type Verdict, isAway } from "./node-state.ts";

/** Records what became known. `failed`: uids of Nodes that failed without a pod. */
export function recordNews(look: Look, failed: readonly string[]): void {
  const before = look.state;
  // Before a word: that of another node does not excuse a canary that is gone.
  const lost = look.isRelease() ? [] : lostCanary(look);
  if (!before.word) recordWord(look);
  if (!look.isRelease()) {
    const found = [...failed, ...lost, ...failedPods(look)];
    const known = new Set(look.state.failed);
    const news = new Set(found.filter((uid) => !known.has(uid)));
    const room = mostListed - before.failed.length;
    if (news.size > 0 && room > 0)
      look.change({ failed: [...before.failed, ...[...news].slice(0, room)] });
  }
  forgetCanary(look);
  if (look.state !== before) look.save();
}

/** With the word of a canary, the pods that exist at this moment become those that must prove. */
function recordWord(look: Look): void {
  const { revision } = look.secret;
  const isWord = ({ pod, verdict }: JudgedPod): boolean =>
    verdict.is === "proved" && pod.grant?.revision === revision && pod.grant.word;
  if (!look.pods.some(isWord)) return;
  look.change({ word: true, base: latestOf(look) });
}

/** The highest creation time of the pods that exist. */
const latestOf = (look: Look): number =>
  look.pods.reduce((latest, { pod }) => Math.max(latest, pod.created), -1);

/** A canary that disappears with its Node has failed: the content may have broken it. */
function lostCanary(look: Look): readonly string[] {
  const { canary, word } = look.state;
  if (canary === undefined || word) return [];
  const found = look.byNode.get(canary.node);
  if (found !== undefined && holdsNewest(found.pod, look.secret)) return [];
  const isGone = look.isGone(canary.node, Number.POSITIVE_INFINITY);
  const uid = look.snapshot.nodes.byName.get(canary.node)?.uid;
  if (isGone === undefined || uid === canary.uid) return [];
  look.change({ canary: undefined });
  return [canary.uid];
}

/** A canary that refused, or whose grant is refused, has begun nothing: its Node may go. */
function forgetCanary(look: Look): void {
  const { canary, word } = look.state;
  if (canary === undefined || word) return;
  const found = look.byNode.get(canary.node);
  if (found === undefined || !look.isExcused(found)) return;
  const { pod, verdict } = found;
  if (holdsNewest(pod, look.secret) ? isRefusedByWord(verdict) : verdict.is !== "excused")
    look.change({ canary: undefined });
}

function failedPods(look: Look): readonly string[] {
  const lost = lostOf(look.state);
  // A word of before the retry stays until the node is granted the content again.
  const isNews = (one: JudgedPod): boolean =>
    holdsNewest(one.pod, look.secret) || (one.pod.grant === undefined && !isLost(look, lost, one));
  return look.pods
    .filter((one) => one.verdict.is === "failed" && isNews(one))
    .map(({ pod }) => look.uidOf(pod))
    .filter((uid) => uid !== undefined);
}

/** Follows a retry, or records a halt. True if this is all for now. */
export function steer(look: Look): boolean {
  const { snapshot, state } = look;
  if (snapshot.retry !== state.retry) {
    look.change({ retry: snapshot.retry, halted: false, lost: state.failed, failed: [] });
    look.save();
    return true;
  }
  // Promoted content is proved. A node that fails later, perhaps a month later, says nothing about
  // the others, and nodes that return must be granted it.
  if (look.isPromoted()) {
    if (!state.halted) return false;
    look.change({ halted: false });
    look.save();
    return true;
  }
  const isTooMany = state.failed.length > snapshot.policy.maxFailures;
  if (look.isRelease() || state.halted || !isTooMany) return false;
  look.change({ halted: true });
  look.actions.push({ kind: "halt", state: look.state });
  return true;
}

const isRefusedByWord = (verdict: Verdict): boolean =>
  verdict.is === "excused" && (verdict.because === "unfit" || verdict.because === "behind");

/**
 * Takes grants back: after a halt all that are unproved or have failed; otherwise those of failed
 * and excused nodes, which then wait for ten minutes, and those that cannot be fulfilled, whose
 * nodes wait for nothing. A withdrawal replaces a grant instead.
 */
export function takeBack(look: Look): void {
  const { halted } = look.state;
  const isReplacing = look.isRelease() && look.snapshot.wanted.intent === "release";
  for (const one of look.pods) {
    const { pod, seen, verdict } = one;
    if (pod.grant === undefined || pod.grant.revision === 0 || pod.isDeleting) continue;
    const isHalted =
      halted &&
      (verdict.is === "unproved" || (verdict.is === "failed" && holdsNewest(pod, look.secret)));
    // What was proved stays granted, whatever became of its agent later. An older grant goes: if no
    // slot has its content any more, the agent could not become Ready.
    // A grant that the agent has refused goes as well: it stays dead until there is another one.
    const isKept =
      seen.isSettled &&
      !isRefusedByWord(verdict) &&
      (look.isRelease() || holdsNewest(pod, look.secret));
    const isOver =
      (verdict.is === "excused" && !isKept) || (verdict.is === "failed" && !look.isRelease());
    const isVoid = verdict.is === "unproved" && !isReplacing && !namesSlot(pod.grant, look.secret);
    if (!isHalted && !isOver && !isVoid) continue;
    if (!look.mayPatch(seen)) continue;
    const digest = isHalted || isVoid ? "" : String(pod.grant.revision);
    const grant: Grant = { revision: 0, digest, since: pod.ready.since, word: false };
    look.actions.push({ kind: "take-back", pod, grant });
    look.written.add(pod.uid);
    if (verdict.is === "failed" || verdict.is === "excused") {
      const over = { revision: pod.grant.revision, ...verdict };
      const failures =
        verdict.is === "failed" ? failuresOf(one, pod.grant.revision) : seen.failures;
      look.seen.set(pod.uid, { ...seen, over, failures });
    }
  }
}

/** Its failures with this one. A patch that is sent again counts once. */
function failuresOf({ seen: { failures, grant } }: JudgedPod, revision: number): Seen["failures"] {
  const before = failures?.revision === revision ? failures : undefined;
  if (before?.grant === grant) return before;
  return { revision, grant, count: (before?.count ?? 0) + 1 };
}

/** Whether the Node's failure is the reason for the present retry: it is granted first. */
export const isLost = (look: Look, lost: ReadonlySet<string>, one: JudgedPod): boolean => {
  if (lost.size === 0) return false;
  const uid = look.uidOf(one.pod);
  return uid !== undefined && lost.has(uid);
};

export const lostOf = ({ lost }: StateFacts): ReadonlySet<string> => new Set(lost);

/**
 * Promotes once the canary gave its word, and every pod that existed at that moment has proved the
 * content, is excused, or has failed. Nodes that joined later do not delay it, so a rollout ends
 * however many nodes join. Those that joined before the promotion hold something older, and are
 * awaited until the rollout is reported as over.
 */
export function promote(look: Look, { cause, waitsFor }: Newer): void {
  const { state } = look;
  if (look.isRelease()) return;
  if (look.isPromoted()) return endWait(look);
  if (!state.word || state.halted) return;
  // Newer content may lack a source, or may have lacked it for a while, so this also holds while it
  // waits for an interval or for the end of a pause. New nodes are granted what is published.
  if (cause !== undefined || waitsFor !== undefined) return;
  if (!hasAll(look, state.base)) return;
  // Saved first: a controller that is killed in between only saves it again.
  keepWait(look, hasAll(look, Infinity) ? -1 : latestOf(look));
  look.actions.push({ kind: "promote" });
}

function endWait(look: Look): void {
  if (look.state.awaited >= 0 && hasAll(look, look.state.awaited)) keepWait(look, -1);
}

function keepWait(look: Look, awaited: number): void {
  if (look.state.awaited === awaited) return;
  look.change({ awaited });
  look.save();
}

/** True if no pod of this age or older holds up the rollout. */
const hasAll = (look: Look, created: number): boolean =>
  look.pods.every((one) => one.pod.created > created || isDone(look, one));

/** True if the rollout does not wait for this pod. */
function isDone(look: Look, one: JudgedPod): boolean {
  if (look.granted.has(one.pod.uid)) return false;
  const { verdict } = one;
  if (verdict.is === "proved" && holdsNewest(one.pod, look.secret)) return true;
  if (verdict.is === "failed" || look.isExcused(one)) return true;
  // A node that has proved older content is granted this when it is back.
  return isAway(one.seen, look.now) || isTakenBack(look, one);
}

/** Excused or failed, and its grant was taken back. A retry waits for the node once more. */
function isTakenBack(look: Look, one: JudgedPod): boolean {
  const { grant } = one.pod;
  if (grant?.revision !== 0 || grant.digest !== String(look.secret.revision)) return false;
  return one.verdict.is !== "back" && !isLost(look, lostOf(look.state), one);
}
