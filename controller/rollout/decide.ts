/**
 * The rollout's decision, in the order of its steps. Pure: one snapshot in, actions out.
 *
 *     observe → failures → retry or halt → revoke → publish → template → upgrade → grant
 *     → promote or complete
 *
 * A step that changes what the later steps depend on (a retry, a halt, the Secret, the template)
 * ends the decision. The next decision starts from the result. This file decides about publications
 * and the end of a withdrawal, halt.ts about halts and promotions, budget.ts about grants and
 * upgrades.
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
import type { PublishedMode } from "#contract/names.ts";
import { recordOutcomes, retryOrHalt, takeGrantsBack, promote } from "./halt.ts";
import { Survey, settlePlaces, idleView, viewOf, type SurveyedPod } from "./survey.ts";
import { updatePodless, retrySeconds } from "./node-state.ts";
import { replacePods, fillWindow, raiseSync } from "./budget.ts";
import { mostRevision } from "#contract/grant.ts";

/**
 * Decides what to do now. `memory` is the memory that the previous decision returned, with the
 * answers to its patches (`afterRefusal`). The snapshot must contain every earlier write of the
 * Secret, the state and the template, but not every earlier patch of a pod.
 */
export function decide(snapshot: Snapshot, memory: Memory, now: Now): Decision {
  const { secret, template, target } = snapshot;
  if (isHeld(snapshot)) return { ...withoutPods(memory, []), view: heldView };
  if (secret === undefined) {
    const isNeeded = target.intent === "apply" || template !== undefined;
    return withoutPods(memory, isNeeded ? [publication(snapshot, "missing")] : []);
  }
  if (template === undefined) {
    const isOver = target.intent === "release" && secret.intent === "release";
    const action = isOver
      ? ({ kind: "complete", isConfirmed: true } as const)
      : ({ kind: "write-template" } as const);
    return withoutPods(memory, [action]);
  }
  return withPods(snapshot, secret, memory, now);
}

/**
 * True if a pause delays the whole decision: the first installation, or a new installation after a
 * withdrawal. Also true if someone deleted or edited global-pull-secret, because the wanted content
 * could then be a change that the pause must delay. But if the wanted content is known to be what
 * the controller last published (`isKnown`), the decision continues.
 */
const isHeld = ({ isPaused, secret, template, target }: Snapshot): boolean =>
  isPaused &&
  target.intent === "apply" &&
  ((secret === undefined && !target.isKnown) ||
    (template === undefined && secret?.intent !== "apply"));

const heldView: View = { ...idleView, pending: "paused" };

/** A decision that needs no pods: before the first publication, or without the DaemonSet. */
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
  // Newer content, a pause and a halt stop further grants. But they do not stop the grants of a
  // withdrawal that `publishNewer` has already published.
  const mayGrant = !survey.isPaused() && (!survey.state.halted || survey.isRelease());
  if (newer.cause === undefined && mayGrant) fillWindow(survey);
  raiseSync(survey);
  promote(survey, newer);
  completeWithdrawal(survey);
  return newer;
}

/**
 * For this many seconds the number of pods must differ from the desired number before we list
 * Nodes.
 */
const differsSeconds = 20;
/**
 * Seconds between two lists of Nodes, while the number of missing pods changes and while it does
 * not.
 */
const listSeconds = { changing: 60, same: 600 } as const;

/**
 * Decides whether to list all Nodes, to find Nodes without a pod. Returns the updated record of
 * when Nodes were listed.
 */
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
 * Whether the Secret must be published again. While newer content waits for minInterval, the
 * rollout of the published content continues.
 */
function newerContentOf(survey: Survey): NewerContent {
  const { snapshot, secret, now } = survey;
  const { target, policy, template } = snapshot;
  const isOther = target.digest !== secret.digest || target.intent !== secret.intent;
  if (isOther && snapshot.isPaused)
    return { cause: undefined, waitsFor: "paused", waits: Infinity };
  if (isOther) {
    const remaining = secret.publishedAt + policy.minInterval - now.api;
    // If the clock was set back, the wait is still at most minInterval.
    const waits = Math.min(remaining, policy.minInterval);
    return !isWithdrawal(target) && waits > 0
      ? { cause: undefined, waitsFor: "interval", waits }
      : { cause: "content", waitsFor: undefined, waits: 0 };
  }
  const isOtherMode =
    template?.mode !== undefined &&
    modeToPublish(snapshot) !== secret.mode &&
    target.intent === "apply";
  const cause = isOtherMode ? "mode" : isBehind(survey) ? "behind" : undefined;
  return { cause, waitsFor: undefined, waits: 0 };
}

/**
 * True for a withdrawal, even of only one of several sources. A withdrawal never waits for an
 * interval.
 */
const isWithdrawal = ({ intent, withdraws }: Snapshot["target"]): boolean =>
  intent === "release" || withdraws.newest || withdraws.served;

/**
 * True if a node has proved a higher revision than the Secret's. This happens after etcd was
 * restored.
 */
const isBehind = (survey: Survey): boolean => survey.pods.some(({ pod }) => mayRaise(survey, pod));

/**
 * Whether to publish a higher revision because this node reports one. One publication exceeds every
 * revision that the node has, so a node that then reports a higher revision again is damaged or
 * lies. We excuse such a node, and accept its next report only after a pause that doubles each
 * time. But if etcd was restored once more, our earlier publication is gone, and we accept the
 * report at once.
 */
function mayRaise(survey: Survey, { node, terminationMessage: message }: PodFacts): boolean {
  const { secret, now } = survey;
  if (message?.kind !== "behind" || message.journal <= secret.revision) return false;
  if (message.journal > mostBelieved(survey.snapshot)) return false;
  const before = survey.raised.get(node);
  if (before === undefined || secret.revision < before.revision) return true;
  const remaining = before.at + retrySeconds(before.count) - now.steady;
  if (remaining > 0) survey.recheckIn(remaining);
  return remaining <= 0;
}

function recordRaised(survey: Survey, revision: number): void {
  for (const { pod } of survey.pods) {
    if (!mayRaise(survey, pod)) continue;
    const before = survey.raised.get(pod.node);
    const isSame = before !== undefined && survey.secret.revision < before.revision;
    const count = (before?.count ?? 0) + (isSame ? 0 : 1);
    survey.raised.set(pod.node, { at: survey.now.steady, count, revision });
  }
}

/**
 * Publishes a withdrawal at once, and other newer content when no slot is occupied. While newer
 * content waits, empties the served slot of the Secret if that slot contains a source that is being
 * withdrawn. Returns true if this ends the decision.
 */
function publishNewer(survey: Survey, { cause, waitsFor }: NewerContent): boolean {
  const { snapshot, secret } = survey;
  const { target } = snapshot;
  if (cause !== undefined && (target.intent === "release" || survey.taken.size === 0)) {
    const action = publication(snapshot, cause);
    survey.actions.push(action);
    if (cause === "behind") recordRaised(survey, action.revision);
    return true;
  }
  const isOther = waitsFor === "interval" || cause === "content";
  if (!isOther || secret.served === 0 || !withdrawsServed(snapshot, secret)) return false;
  survey.actions.push({ kind: "empty-served" });
  return true;
}

/**
 * The part of the decision that needs no pods: publishes a withdrawal, or empties the served slot.
 * After a restore of etcd, the new revision can be too low. The controller then publishes a higher
 * revision once it has read the pods.
 */
export function publishUnseen(snapshot: Snapshot): readonly Action[] {
  const { secret, target, isPaused } = snapshot;
  if (secret === undefined || isPaused || target.digest === secret.digest) return [];
  if (target.intent === "release")
    return secret.intent === "release" ? [] : [publication(snapshot, "content")];
  return secret.served > 0 && withdrawsServed(snapshot, secret) ? [{ kind: "empty-served" }] : [];
}

const withdrawsServed = ({ target }: Snapshot, secret: SecretFacts): boolean =>
  target.intent === "release" ||
  (secret.served === secret.revision ? target.withdraws.newest : target.withdraws.served);

/**
 * The next publication. It keeps the served slot only if new nodes should still get the content of
 * that slot.
 */
function publication(snapshot: Snapshot, because: Cause): Publication {
  const { secret, target } = snapshot;
  const mode = modeToPublish(snapshot);
  const stays =
    secret !== undefined &&
    secret.served > 0 &&
    secret.mode === mode &&
    secret.intent === "apply" &&
    target.intent === "apply" &&
    !withdrawsServed(snapshot, secret);
  const served = !stays ? "nothing" : secret.served === secret.revision ? "newest" : "same";
  return { kind: "publish", revision: nextRevision(snapshot), mode, served, because };
}

/**
 * The mode of a publication: the template's mode, so that rotations continue while the API server
 * refuses a template of another mode. But newer content of scope Annotated is published before its
 * template, because agents of any other mode would give the credentials to every pod. Content that
 * these agents already have waits for the template, because it would be served to no agent that
 * joins before.
 */
function modeToPublish({ secret, template, target }: Snapshot): PublishedMode {
  if (template === undefined) return target.mode;
  const isNewer =
    secret === undefined ||
    secret.mode !== template.mode ||
    secret.digest !== target.digest ||
    secret.intent !== target.intent;
  if (isNewer && target.mode === "CredentialProviderAnnotated") return target.mode;
  return template.mode ?? secret?.mode ?? target.mode;
}

/**
 * More revisions than a restored etcd can have lost. A node whose revision is ahead of ours by more
 * than this number is damaged or lies.
 */
const mostLacking = 2 ** 20;

const ownRevision = ({ secret, state }: Snapshot): number =>
  Math.max(
    0,
    ...[secret?.revision ?? 0, secret?.served ?? 0, state.revision].filter(
      (revision) => revision < mostRevision,
    ),
  );

/**
 * The highest revision that we accept from a pod. A program on the node could report any revision.
 */
const mostBelieved = (snapshot: Snapshot): number =>
  Math.min(ownRevision(snapshot) + mostLacking, mostRevision - 1);

/**
 * A revision above every accepted revision in the Secret, in grants and in termination messages.
 */
function nextRevision(snapshot: Snapshot): number {
  const most = mostBelieved(snapshot);
  const ofPod = ({ grant, terminationMessage: message }: PodFacts): number =>
    [grant?.revision, message?.revision, message?.journal].reduce<number>(
      (highest, revision = 0) => (revision <= most ? Math.max(highest, revision) : highest),
      0,
    );
  const start = ownRevision(snapshot);
  return 1 + snapshot.pods.reduce((highest, pod) => Math.max(highest, ofPod(pod)), start);
}

/**
 * Seconds after `publishedAt` within which a joining node can still get the previous content. The
 * time `publishedAt` is taken before the write, and the write sends two requests of up to 30 s
 * each. Also, the clocks of several API servers can differ.
 */
const writtenSeconds = 120;

/**
 * Completes the withdrawal when `forgetAfter` has passed, or when every Node that is older than the
 * release has confirmed the release. A younger Node never had any entries, because nothing has been
 * served since the release was written.
 */
function completeWithdrawal(survey: Survey): void {
  const { snapshot, secret, now } = survey;
  if (!survey.isRelease() || snapshot.target.intent !== "release") return;
  const remaining = secret.publishedAt + snapshot.policy.forgetAfter - now.api;
  const isConfirmed = hasEveryNode(survey);
  if (isConfirmed || remaining < 0) survey.actions.push({ kind: "complete", isConfirmed });
  else survey.recheckIn(remaining + 1);
}

function hasConfirmed(survey: Survey, surveyed: SurveyedPod): boolean {
  const { pod, grantState } = surveyed;
  return (
    !survey.granted.has(pod.uid) && grantState.is === "proved" && holdsNewest(pod, survey.secret)
  );
}

function hasEveryNode(survey: Survey): boolean {
  const written = survey.secret.publishedAt + writtenSeconds;
  const { byName, all } = survey.snapshot.nodes;
  const confirmed = new Set<string>();
  for (const surveyed of survey.pods) {
    if (hasConfirmed(survey, surveyed)) confirmed.add(surveyed.pod.node);
    // A Node is never younger than its pods, so if the pod is older than the release, we need not
    // read its Node.
    else if (surveyed.pod.created <= written) return false;
  }
  if (!all) {
    survey.readAll = true;
    return false;
  }
  for (const [name, node] of byName)
    if (node !== undefined && node.created <= written && !confirmed.has(name)) return false;
  return true;
}
