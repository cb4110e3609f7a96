/** What becomes of the Secret: when newer content is published, and what both slots hold. Pure. */
import { mostRevision } from "#contract/grant.ts";
import type { PodFacts, SecretFacts, Snapshot } from "./facts.ts";
import type { Look } from "./look.ts";
import type { Action, Cause, View } from "./decision.ts";
import { againAfter } from "./verdict.ts";

type Publication = Extract<Action, { kind: "publish" }>;

export type Newer = Readonly<{
  /** Why something has to be published now; then nothing else is granted. */
  cause: Cause | undefined;
  /** What newer content waits for, apart from places. */
  waitsFor: "interval" | "paused" | undefined;
  /** Seconds until the interval is over. */
  waits: number;
}>;

/**
 * Whether the Secret must be published again. While newer content waits for minInterval or for the
 * end of a pause, the rollout of what is published goes on.
 */
export function newerOf(look: Look): Newer {
  const { snapshot, secret, now } = look;
  const { wanted, policy, template } = snapshot;
  const isOther = wanted.digest !== secret.digest || wanted.intent !== secret.intent;
  if (isOther && snapshot.isPaused)
    return { cause: undefined, waitsFor: "paused", waits: Infinity };
  if (isOther) {
    const left = secret.publishedAt + policy.minInterval - now.api;
    // A clock that was set back cannot make this longer than it is.
    const waits = Math.min(left, policy.minInterval);
    return !isWithdrawal(wanted) && waits > 0
      ? { cause: undefined, waitsFor: "interval", waits }
      : { cause: "content", waitsFor: undefined, waits: 0 };
  }
  const isOtherMode =
    template?.mode !== undefined && template.mode !== secret.mode && wanted.intent === "apply";
  const cause = isOtherMode ? "mode" : isBehind(look) ? "behind" : undefined;
  return { cause, waitsFor: undefined, waits: 0 };
}

/** Also if only one source of several leaves: a withdrawal never waits for an interval. */
const isWithdrawal = ({ intent, withdraws }: Snapshot["wanted"]): boolean =>
  intent === "release" || withdraws.newest || withdraws.served;

/** A node has proved a higher revision than the Secret has: etcd was restored. */
const isBehind = (look: Look): boolean => look.pods.some(({ pod }) => mayRaise(look, pod));

/**
 * Whether the word of this node is a reason to publish again. One publication exceeds whatever the
 * node has, so a node that repeats it is damaged or lies. It is excused, and believed again after a
 * pause that doubles. If etcd was restored once more, what it caused is gone, and it is believed.
 */
function mayRaise(look: Look, { node, word }: PodFacts): boolean {
  const { secret, now } = look;
  if (word?.kind !== "behind" || word.journal <= secret.revision) return false;
  if (word.journal > mostBelieved(look.snapshot)) return false;
  const before = look.raised.get(node);
  if (before === undefined || secret.revision < before.revision) return true;
  const left = before.at + againAfter(before.count) - now.steady;
  if (left > 0) look.lookIn(left);
  return left <= 0;
}

/** Remembers the nodes that are the reason for a publication. */
function noteRaised(look: Look, revision: number): void {
  for (const { pod } of look.pods) {
    if (!mayRaise(look, pod)) continue;
    const before = look.raised.get(pod.node);
    const isSame = before !== undefined && look.secret.revision < before.revision;
    const count = (before?.count ?? 0) + (isSame ? 0 : 1);
    look.raised.set(pod.node, { at: look.now.steady, count, revision });
  }
}

/**
 * Publishes newer content when no grant is unproved, and a withdrawal at once. Until then a served
 * slot with a source that is being withdrawn is emptied. True if this is all for now.
 */
export function publishNewer(look: Look, { cause, waitsFor }: Newer): boolean {
  const { snapshot, secret } = look;
  const { wanted } = snapshot;
  if (cause !== undefined && (wanted.intent === "release" || look.taken.size === 0)) {
    const action = publication(snapshot, cause);
    look.actions.push(action);
    if (cause === "behind") noteRaised(look, action.revision);
    return true;
  }
  const isOther = waitsFor === "interval" || cause === "content";
  if (!isOther || secret.served === 0 || !withdrawsServed(snapshot, secret)) return false;
  look.actions.push({ kind: "empty-served" });
  return true;
}

/**
 * What does not wait until the pods are known: a withdrawal, and the end of what new nodes may take
 * of it. The revision may be too low after a restore of etcd, which is found as soon as pods are.
 */
export function publishUnseen(snapshot: Snapshot): readonly Action[] {
  const { secret, wanted, isPaused } = snapshot;
  if (secret === undefined || isPaused || wanted.digest === secret.digest) return [];
  if (wanted.intent === "release")
    return secret.intent === "release" ? [] : [publication(snapshot, "content")];
  return secret.served > 0 && withdrawsServed(snapshot, secret) ? [{ kind: "empty-served" }] : [];
}

const withdrawsServed = ({ wanted }: Snapshot, secret: SecretFacts): boolean =>
  wanted.intent === "release" ||
  (secret.served === secret.revision ? wanted.withdraws.newest : wanted.withdraws.served);

/** The next publication. The served slot stays only if new nodes may have its content. */
export function publication(snapshot: Snapshot, because: Cause): Publication {
  const { secret, template, wanted } = snapshot;
  const mode =
    template === undefined ? wanted.mode : (template.mode ?? secret?.mode ?? wanted.mode);
  const stays =
    secret !== undefined &&
    secret.served > 0 &&
    secret.mode === mode &&
    secret.intent === "apply" &&
    wanted.intent === "apply" &&
    !withdrawsServed(snapshot, secret);
  const served = !stays ? "nothing" : secret.served === secret.revision ? "newest" : "same";
  return { kind: "publish", revision: nextRevision(snapshot), mode, served, because };
}

/** More revisions than a restored etcd can lack. A node that reports more is damaged or lies. */
const mostLacking = 2 ** 20;

/** The highest number of our own objects. */
const ownRevision = ({ secret, state }: Snapshot): number =>
  Math.max(
    0,
    ...[secret?.revision ?? 0, secret?.served ?? 0, state.revision].filter(
      (one) => one < mostRevision,
    ),
  );

/** The highest number of a pod that is believed: anybody on a node can write a higher one. */
const mostBelieved = (snapshot: Snapshot): number =>
  Math.min(ownRevision(snapshot) + mostLacking, mostRevision - 1);

/** Higher than every believed revision that the Secret, a grant or an agent's word has. */
function nextRevision(snapshot: Snapshot): number {
  const most = mostBelieved(snapshot);
  const ofPod = ({ grant, word }: PodFacts): number =>
    [grant?.revision, word?.revision, word?.journal].reduce<number>(
      (highest, one = 0) => (one <= most ? Math.max(highest, one) : highest),
      0,
    );
  const start = ownRevision(snapshot);
  return 1 + snapshot.pods.reduce((highest, pod) => Math.max(highest, ofPod(pod)), start);
}

/** What status reports of newer content that is not published yet. */
export const pendingOf = ({ cause, waitsFor }: Newer): View["pending"] =>
  waitsFor ?? (cause === undefined ? "no" : "places");
