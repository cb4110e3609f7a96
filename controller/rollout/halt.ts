/**
 * What is recorded of a revision before anything is granted: the canary's word, failures, a retry,
 * a halt. Pure.
 *
 * A halt is recorded before any grant is taken back, so that a controller that is killed between
 * the two does not grant anything else.
 */
import type { Grant } from "#contract/grant.ts";
import { holdsNewest, mostListed, namesSlot, type StateFacts } from "./facts.ts";
import type { JudgedPod, Look } from "./survey.ts";
import type { Verdict } from "./node-state.ts";
import type { Seen } from "./memory.ts";

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
export const latestOf = (look: Look): number =>
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
