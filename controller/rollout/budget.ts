/**
 * Whom to grant the newest content: one canary first, then `maxUnavailable` nodes at a time. Pure.
 */
import type { Grant } from "#contract/grant.ts";
import {
  holdsNewest,
  inheritsFailure,
  type PodFacts,
  type SecretFacts,
  mostListed,
} from "./facts.ts";
import { isRetried, retriedNodes } from "./halt.ts";
import type { SurveyedPod, Survey } from "./survey.ts";
import { retrySeconds, isAway, syncSeconds, absenceSeconds } from "./node-state.ts";

/** Seconds within which a container that exits again is started with a growing delay. */
const restedSeconds = 600;

/** Seconds after which a grant that was sent and is not seen is sent again. */
const resendSeconds = 2;

/**
 * The nodes of which only a number may hold an unproved grant. During a canary these are all nodes.
 * Later they are those whose pod may restart the kubelet; the others may change at the same time.
 * During a withdrawal pods of several modes may take part.
 */
class Window {
  readonly #survey: Survey;
  readonly #alone: boolean;
  readonly #most: number;
  readonly #nodes: Set<string>;

  constructor(survey: Survey) {
    const { maxUnavailable } = survey.snapshot.policy;
    this.#survey = survey;
    this.#alone = survey.isAlone();
    const rest = maxUnavailable === "all" ? Infinity : maxUnavailable;
    this.#most = this.#alone ? 1 : rest;
    this.#nodes = new Set([...survey.taken].filter((node) => this.#counts(node)));
  }

  /** Whether the node may be granted something. A withdrawal uses the place that a node has. */
  hasRoom({ node }: PodFacts): boolean {
    if (!this.#counts(node) || this.#nodes.size < this.#most) return true;
    return this.#nodes.has(node) && this.#nodes.size === this.#most;
  }

  /** More nodes than may be hold an unproved grant, because the number was lowered. */
  isOverfull({ node }: PodFacts): boolean {
    return this.#counts(node) && this.#nodes.size > this.#most;
  }

  take({ node }: PodFacts): void {
    if (this.#counts(node)) this.#nodes.add(node);
  }

  /** Nothing is known of a deleted pod but that it held a grant. */
  #counts(node: string): boolean {
    if (this.#alone) return true;
    const pod = this.#survey.byNode.get(node)?.pod;
    return pod?.mode === undefined || pod.mode === "Restart";
  }
}

/** Raises `sync` of pods whose grant shows no effect, so that the kubelet syncs the volume. */
export function raiseSync(survey: Survey): void {
  for (const { pod, record, grantState } of survey.pods) {
    if (grantState.is !== "unproved" && grantState.is !== "back") continue;
    if (survey.written.has(pod.uid)) continue;
    const waited = survey.now.steady - record.grantAt;
    const due = syncSeconds.filter((after) => after <= waited).length;
    const next = syncSeconds[due];
    if (next !== undefined) survey.recheckIn(next - waited);
    if (due <= record.syncs) continue;
    survey.records.set(pod.uid, { ...record, syncs: due });
    survey.actions.push({ kind: "sync", pod });
  }
}

/** Grants the newest content to as many nodes as have a place. */
export function fillWindow(survey: Survey): void {
  const window = new Window(survey);
  const lost = retriedNodes(survey.state);
  resend(survey, window);
  const candidates = survey.pods.filter((one) => isCandidate(survey, one, lost));
  for (const one of inOrder(survey, candidates, lost))
    if (window.hasRoom(one.pod)) grant(survey, window, one);
}

/** Sends a grant again of which neither an answer nor an effect is known. */
function resend(survey: Survey, window: Window): void {
  for (const one of survey.pods) {
    const { sent } = one.record;
    if (sent === undefined || survey.written.has(one.pod.uid)) continue;
    const waited = survey.now.steady - sent.at;
    if (waited < resendSeconds) survey.recheckIn(resendSeconds - waited);
    else if (!window.isOverfull(one.pod) && !one.pod.isDeleting) grant(survey, window, one);
    else survey.recheckIn(resendSeconds);
  }
}

/**
 * Its agent refused the newest content. Others were away, or late: a withdrawal asks them at once.
 */
const hasRefused = (
  { terminationMessage: message }: PodFacts,
  { revision }: SecretFacts,
): boolean => message?.revision === revision && message.kind !== "proved";

function isCandidate(survey: Survey, one: SurveyedPod, lost: ReadonlySet<string>): boolean {
  const { secret, state } = survey;
  const { pod, record } = one;
  const held = pod.grant;
  if (pod.mode === undefined || pod.isDeleting || survey.written.has(pod.uid)) return false;
  if (record.sent !== undefined) return false;
  if (pod.unreachable !== undefined || isAway(record, survey.now)) return false;
  if (!survey.isRelease() && (survey.taken.has(pod.node) || pod.mode !== secret.mode)) return false;
  // A word may be lost with the state. A node that has the content gives it without another change.
  if (holdsNewest(pod, secret))
    return survey.lacksWord() && one.grantState.is === "proved" && pod.grant?.word === false;
  if (!pod.ready.is && !takesUnready(survey, one)) return false;
  if (!survey.mayPatch(record)) return false;
  const hasEnded =
    held === undefined
      ? inheritsFailure(pod, secret)
      : held.revision === 0 && held.digest === String(secret.revision);
  if (!hasEnded || (survey.isRelease() && !hasRefused(pod, secret))) return true;
  if (state.lost.length > 0 && isRetried(survey, lost, one)) return true;
  // A node that fails each time is tried ever more rarely: each try restarts its kubelet.
  const { revision, count } = record.failures ?? { revision: 0, count: 1 };
  const pause = retrySeconds(revision === secret.revision ? count : 1);
  const left = pause - (survey.now.steady - record.readyAt);
  if (left > 0) survey.recheckIn(left);
  return left <= 0;
}

/**
 * An agent that does not run takes nothing, and would only keep a place. It may also be NotReady
 * because of its grant, which a withdrawal replaces at once.
 */
function takesUnready(survey: Survey, { pod: { grant: held }, grantState }: SurveyedPod): boolean {
  if (!survey.isRelease() || held === undefined || held.revision === 0) return false;
  return (
    grantState.is !== "excused" || grantState.because === "unfit" || grantState.because === "behind"
  );
}

/**
 * A retry begins on nodes that failed. A canary whose pod was deleted stays the canary: the
 * content may have broken its node, and this may be forgotten. A canary proves by an exit, so one
 * whose container has not exited lately is better. Then come the nodes with the oldest content.
 * Nodes that joined later come last: they delay neither a promotion nor a withdrawal, and many of
 * them must not delay the others.
 */
function inOrder(
  survey: Survey,
  candidates: readonly SurveyedPod[],
  lost: ReadonlySet<string>,
): readonly SurveyedPod[] {
  const alone = survey.isAlone();
  const { publishedAt } = survey.secret;
  const { canary } = survey.state;
  // One number: the first difference decides. Revisions stay below 2^40.
  const rank = (one: SurveyedPod): number => {
    const { node, lastExit, grant, created } = one.pod;
    const isTired = alone && lastExit !== undefined && survey.now.api - lastExit < restedSeconds;
    const isOther = alone && canary !== undefined && canary.node !== node;
    const hasIt = holdsNewest(one.pod, survey.secret);
    const group = [
      !isRetried(survey, lost, one),
      alone && !hasIt,
      isOther,
      isTired,
      created > publishedAt,
    ];
    const order = group.reduce((number, isLater) => 2 * number + Number(isLater), 0);
    return order * 2 ** 40 + (grant?.revision ?? 0);
  };
  return candidates
    .map((one) => ({ one, rank: rank(one) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ one }) => one);
}

/** Grants the newest content. A canary is recorded first, with its Node, which may disappear. */
function grant(survey: Survey, window: Window, { pod, record }: SurveyedPod): void {
  const { secret, now } = survey;
  const alone = survey.isAlone();
  // The pod of a deleted Node exists for another minute. That Node could not prove anything, and
  // would count as a canary that disappeared. It takes no place from another candidate.
  if (alone && survey.isGone(pod.node, pod.created) === true) return;
  window.take(pod);
  if (alone) {
    const uid = survey.uidOf(pod);
    // Without it nothing may be granted, so the Node is read first.
    if (uid === undefined) return void survey.taken.add(pod.node);
    const { canary } = survey.state;
    if (canary?.uid !== uid) {
      survey.change({ canary: { node: pod.node, uid } });
      survey.save();
    }
  }
  const word = survey.isRelease() || survey.lacksWord();
  const { revision, digest } = secret;
  const given: Grant = { revision, digest, since: pod.ready.since, word };
  survey.actions.push({ kind: "grant", pod, grant: given });
  survey.granted.add(pod.uid);
  survey.written.add(pod.uid);
  survey.taken.add(pod.node);
  const sent = { resourceVersion: pod.resourceVersion, at: now.steady, held: record.holds };
  survey.records.set(pod.uid, { ...record, holds: true, sent });
}

/**
 * Records nodes and deletes their pods. At most `maxUnavailable` recorded nodes wait for a
 * successor that is Ready, so an image that cannot start takes away no more agents than that. A pod
 * that has not been Ready for 60 s is replaced without a record, because nothing is lost with it. A
 * pod whose deletion is refused gives up its record, so that the others are replaced.
 */
export function replacePods(survey: Survey): void {
  const { snapshot, state } = survey;
  const { maxUnavailable } = snapshot.policy;
  const most = Math.min(mostListed, maxUnavailable === "all" ? Infinity : maxUnavailable);
  const replaced = new Set(state.replaced.filter((node) => !hasArrived(survey, node)));
  const deleted: SurveyedPod[] = [];
  for (const one of survey.pods) {
    if (!isReplaced(survey, one)) continue;
    const { pod, record } = one;
    if (record.kept !== undefined) replaced.delete(pod.node);
    if (!survey.mayPatch({ refused: record.kept })) continue;
    const notReady = survey.now.steady - record.readyAt;
    if (!pod.ready.is && notReady < absenceSeconds) survey.recheckIn(absenceSeconds - notReady);
    const isCounted = pod.ready.is || notReady < absenceSeconds;
    if (isCounted && !replaced.has(pod.node)) {
      if (replaced.size >= most) continue;
      replaced.add(pod.node);
    }
    deleted.push(one);
  }
  const names = [...replaced];
  if (
    names.length !== state.replaced.length ||
    names.some((name, at) => name !== state.replaced[at])
  ) {
    survey.change({ replaced: names });
    survey.save();
  }
  for (const { pod } of deleted) {
    survey.actions.push({ kind: "delete", pod });
    survey.written.add(pod.uid);
  }
}

/**
 * Its successor is Ready, or the Node is gone. A withdrawal leaves Ready pods in place, also
 * those of a template that is not the newest any more.
 */
function hasArrived(survey: Survey, node: string): boolean {
  const found = survey.byNode.get(node)?.pod;
  if (found === undefined) return survey.isGone(node, Infinity) === true;
  const remains = survey.isRelease() && found.mode !== undefined;
  return found.ready.is && (found.isCurrent || remains);
}

function isReplaced(survey: Survey, { pod, grantState }: SurveyedPod): boolean {
  if (pod.isCurrent || pod.isDeleting || pod.unreachable !== undefined) return false;
  if (survey.written.has(pod.uid)) return false;
  // A pod that is deleted under a grant would keep its place, and its node's kubelet may be down.
  if (survey.taken.has(pod.node)) return false;
  // During a withdrawal only pods that cannot take it: not Ready, or from before grants.
  if (!survey.isRelease()) return true;
  const hasConfirmed = grantState.is === "proved" && holdsNewest(pod, survey.secret);
  return pod.mode === undefined || (!pod.ready.is && !hasConfirmed);
}
