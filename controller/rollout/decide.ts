/**
 * The controller's decisions about grants, in their order. Pure: one snapshot in, actions out.
 *
 *     observe → failures → retry or halt → take back → publish → template → upgrade → grant →
 *     promote or complete
 *
 * A step that changes what all others rest on (a retry, a halt, the Secret, the template) ends the
 * decision. The next one sees its effect.
 */
import {
  type NewerContent,
  type Decision,
  type NodesToRead,
  type View,
  type Now,
  type SecretFacts,
  type Snapshot,
  type PodFacts,
  type Action,
  type Cause,
  holdsNewest,
  type Memory,
} from "./facts.ts";
import { recordOutcomes, retryOrHalt, takeGrantsBack, promote } from "./halt.ts";
import { Survey, settlePlaces, idleView, viewOf, type SurveyedPod } from "./survey.ts";
import { updatePodless, retrySeconds } from "./node-state.ts";
import { replacePods, fillWindow, raiseSync } from "./budget.ts";
import { mostRevision } from "#contract/revision.ts";

/**
 * What to do now. `memory` is that of the decision before, with the answers to its patches
 * (`afterRefusal`). The snapshot must contain every write of the Secret, the state and the template
 * that was made; it may lack patches of pods.
 */
export function decide(snapshot: Snapshot, memory: Memory, now: Now): Decision {
  const { secret, template, wanted } = snapshot;
  if (isHeld(snapshot)) return { ...withoutPods(memory, []), view: heldView };
  if (secret === undefined) {
    const isNeeded = wanted.intent === "apply" || template !== undefined;
    return withoutPods(memory, isNeeded ? [publication(snapshot, "missing")] : []);
  }
  if (template === undefined) {
    const isOver = wanted.intent === "release" && secret.intent === "release";
    const action = isOver
      ? ({ kind: "complete", isConfirmed: true } as const)
      : ({ kind: "write-template" } as const);
    return withoutPods(memory, [action]);
  }
  return withPods(snapshot, secret, memory, now);
}

/**
 * A pause also holds the first installation, and the next one after a withdrawal. If somebody
 * deleted or edited global-pull-secret, it is published again only if the content is known to be
 * the same: otherwise it may be a change that the pause is to hold.
 */
const isHeld = ({ isPaused, secret, template, wanted }: Snapshot): boolean =>
  isPaused &&
  wanted.intent === "apply" &&
  ((secret === undefined && !wanted.isKnown) ||
    (template === undefined && secret?.intent !== "apply"));

const heldView: View = { ...idleView, pending: "paused" };

/** Before the first publication, and after the last pod. */
function withoutPods(memory: Memory, actions: Decision["actions"]): Decision {
  return {
    actions,
    memory,
    reads: { nodes: new Set(), all: false },
    again: actions.length > 0 ? 1 : Number.POSITIVE_INFINITY,
    view: idleView,
  };
}

function withPods(snapshot: Snapshot, secret: SecretFacts, memory: Memory, now: Now): Decision {
  const survey = new Survey(snapshot, secret, memory, now);
  const newer = decideSteps(survey);
  const list = listingOf(survey, memory);
  const podless = updatePodless(snapshot, memory, now);
  const view: View = viewOf(survey, podless, newer);
  if (survey.actions.length > 0) survey.recheckIn(1);
  const reads: NodesToRead = { nodes: survey.readNodes, all: survey.readAll };
  return {
    actions: survey.actions,
    memory: { pods: survey.records, places: survey.places, podless, raised: survey.raised, list },
    reads,
    again: survey.again,
    view,
  };
}

/** The steps. */
function decideSteps(survey: Survey): NewerContent {
  const newer = newerContentOf(survey);
  recordOutcomes(survey, settlePlaces(survey));
  if (retryOrHalt(survey)) return newer;
  takeGrantsBack(survey);
  if (publishNewer(survey, newer)) return newer;
  if (newer.waitsFor !== undefined) survey.recheckIn(newer.waits);
  if (survey.snapshot.template?.isCurrent === false) {
    survey.actions.push({ kind: "write-template" });
    return newer;
  }
  replacePods(survey);
  // Newer content stops further grants. A withdrawal has been published by now.
  if (newer.cause === undefined && (!survey.state.halted || survey.isRelease())) fillWindow(survey);
  raiseSync(survey);
  promote(survey, newer);
  completeWithdrawal(survey);
  return newer;
}

/** Seconds for which fewer or more pods than desired must exist before Nodes are listed. */
const differsSeconds = 20;
/** Seconds between two lists of Nodes while something changes, and while nothing does. */
const listSeconds = { changing: 60, same: 600 } as const;

/** Whether all Nodes must be listed to find those without a pod, and what to remember of it. */
function listingOf(survey: Survey, { list, podless }: Memory): Memory["list"] {
  const { snapshot, now, byNode } = survey;
  const difference = snapshot.desired - byNode.size;
  if (snapshot.nodes.all)
    return {
      since: difference === 0 ? undefined : (list.since ?? now.steady),
      at: now.steady,
      difference,
    };
  if (difference === 0) return { ...list, since: undefined };
  const since = list.since ?? now.steady;
  const isSettled =
    list.difference === difference &&
    [...podless.values()].every(({ at }) => now.steady - at >= 60);
  const pause = isSettled ? listSeconds.same : listSeconds.changing;
  const due = Math.max(since + differsSeconds, list.at === undefined ? 0 : list.at + pause);
  if (now.steady >= due) survey.readAll = true;
  else survey.recheckIn(due - now.steady);
  return { ...list, since };
}

type Publication = Extract<Action, { kind: "publish" }>;

/**
 * Whether the Secret must be published again. While newer content waits for minInterval or for the
 * end of a pause, the rollout of what is published goes on.
 */
function newerContentOf(survey: Survey): NewerContent {
  const { snapshot, secret, now } = survey;
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
  const cause = isOtherMode ? "mode" : isBehind(survey) ? "behind" : undefined;
  return { cause, waitsFor: undefined, waits: 0 };
}

/** Also if only one source of several leaves: a withdrawal never waits for an interval. */
const isWithdrawal = ({ intent, withdraws }: Snapshot["wanted"]): boolean =>
  intent === "release" || withdraws.newest || withdraws.served;

/** A node has proved a higher revision than the Secret has: etcd was restored. */
const isBehind = (survey: Survey): boolean => survey.pods.some(({ pod }) => mayRaise(survey, pod));

/**
 * Whether the word of this node is a reason to publish again. One publication exceeds whatever the
 * node has, so a node that repeats it is damaged or lies. It is excused, and believed again after a
 * pause that doubles. If etcd was restored once more, what it caused is gone, and it is believed.
 */
function mayRaise(survey: Survey, { node, terminationMessage: message }: PodFacts): boolean {
  const { secret, now } = survey;
  if (message?.kind !== "behind" || message.journal <= secret.revision) return false;
  if (message.journal > mostBelieved(survey.snapshot)) return false;
  const before = survey.raised.get(node);
  if (before === undefined || secret.revision < before.revision) return true;
  const left = before.at + retrySeconds(before.count) - now.steady;
  if (left > 0) survey.recheckIn(left);
  return left <= 0;
}

/** Remembers the nodes that are the reason for a publication. */
function noteRaised(survey: Survey, revision: number): void {
  for (const { pod } of survey.pods) {
    if (!mayRaise(survey, pod)) continue;
    const before = survey.raised.get(pod.node);
    const isSame = before !== undefined && survey.secret.revision < before.revision;
    const count = (before?.count ?? 0) + (isSame ? 0 : 1);
    survey.raised.set(pod.node, { at: survey.now.steady, count, revision });
  }
}

/**
 * Publishes newer content when no grant is unproved, and a withdrawal at once. Until then a served
 * slot with a source that is being withdrawn is emptied. True if this is all for now.
 */
function publishNewer(survey: Survey, { cause, waitsFor }: NewerContent): boolean {
  const { snapshot, secret } = survey;
  const { wanted } = snapshot;
  if (cause !== undefined && (wanted.intent === "release" || survey.taken.size === 0)) {
    const action = publication(snapshot, cause);
    survey.actions.push(action);
    if (cause === "behind") noteRaised(survey, action.revision);
    return true;
  }
  const isOther = waitsFor === "interval" || cause === "content";
  if (!isOther || secret.served === 0 || !withdrawsServed(snapshot, secret)) return false;
  survey.actions.push({ kind: "empty-served" });
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
function publication(snapshot: Snapshot, because: Cause): Publication {
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
  const ofPod = ({ grant, terminationMessage: message }: PodFacts): number =>
    [grant?.revision, message?.revision, message?.journal].reduce<number>(
      (highest, one = 0) => (one <= most ? Math.max(highest, one) : highest),
      0,
    );
  const start = ownRevision(snapshot);
  return 1 + snapshot.pods.reduce((highest, pod) => Math.max(highest, ofPod(pod)), start);
}

/**
 * Completes the withdrawal when every Node older than the release has confirmed it by word, or when
 * `forgetAfter` is over. A younger Node never had anything: since the release nothing is served.
 */
function completeWithdrawal(survey: Survey): void {
  const { snapshot, secret, now } = survey;
  if (!survey.isRelease() || snapshot.wanted.intent !== "release") return;
  const left = secret.publishedAt + snapshot.policy.forgetAfter - now.api;
  const isConfirmed = hasEveryNode(survey);
  if (isConfirmed || left < 0) survey.actions.push({ kind: "complete", isConfirmed });
  else survey.recheckIn(left + 1);
}

const hasConfirmed = (survey: Survey, { pod, grantState }: SurveyedPod): boolean =>
  !survey.granted.has(pod.uid) && grantState.is === "proved" && holdsNewest(pod, survey.secret);

function hasEveryNode(survey: Survey): boolean {
  const { publishedAt } = survey.secret;
  const { byName, all } = survey.snapshot.nodes;
  const confirmed = new Set<string>();
  for (const one of survey.pods) {
    if (hasConfirmed(survey, one)) confirmed.add(one.pod.node);
    // A Node is not younger than its pods. So an old pod answers without reading its Node.
    else if (one.pod.created <= publishedAt) return false;
  }
  if (!all) {
    survey.readAll = true;
    return false;
  }
  for (const [name, node] of byName)
    if (node !== undefined && node.created <= publishedAt && !confirmed.has(name)) return false;
  return true;
}
