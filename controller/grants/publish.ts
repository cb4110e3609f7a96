/** What becomes of the Secret: when newer content is published, and what both slots hold. Pure. */
import type { PodFacts, SecretFacts, Snapshot } from "./facts.ts";
import type { Look } from "./look.ts";
import type { Action, Cause, View } from "./decision.ts";

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
const isBehind = ({ pods, secret }: Look): boolean =>
  pods.some(({ pod: { word } }) => word?.kind === "behind" && word.journal > secret.revision);

/**
 * Publishes newer content when no grant is unproved, and a withdrawal at once. Until then a served
 * slot with a source that is being withdrawn is emptied. True if this is all for now.
 */
export function publishNewer(look: Look, { cause, waitsFor }: Newer): boolean {
  const { snapshot, secret } = look;
  const { wanted } = snapshot;
  if (cause !== undefined && (wanted.intent === "release" || look.taken.size === 0)) {
    look.actions.push(publication(snapshot, cause));
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
export function publication(snapshot: Snapshot, because: Cause): Action {
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

/** Higher than every revision that the Secret, a grant or an agent's word has. */
function nextRevision({ secret, state, pods }: Snapshot): number {
  const ofPod = ({ grant, word }: PodFacts): number =>
    Math.max(grant?.revision ?? 0, word?.revision ?? 0, word?.journal ?? 0);
  const start = Math.max(secret?.revision ?? 0, secret?.served ?? 0, state.revision);
  return 1 + pods.reduce((highest, pod) => Math.max(highest, ofPod(pod)), start);
}

/** What status reports of newer content that is not published yet. */
export const pendingOf = ({ cause, waitsFor }: Newer): View["pending"] =>
  waitsFor ?? (cause === undefined ? "no" : "places");
