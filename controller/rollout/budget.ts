/**
 * Decides which pods get a grant or are replaced now, within `maxUnavailable`. Pure. The newest
 * content is granted to one canary first. In an upgrade, pods are replaced.
 */
import type { Grant } from "#contract/grant.ts";
import { usualSeconds } from "#contract/times.ts";
import {
  holdsNewest,
  inheritsFailure,
  type PodFacts,
  type SecretFacts,
  mostListed,
} from "./facts.ts";
import { isRetried, retriedNodes } from "./halt.ts";
import type { SurveyedPod, Survey } from "./survey.ts";
import { retrySeconds, isAway, syncSeconds, absenceSeconds, workingSeconds } from "./node-state.ts";

/**
 * If a container exits again within this many seconds, the kubelet waits longer before it restarts
 * the container.
 */
const restedSeconds = 600;

/**
 * When admission has refused this many canaries within a minute, the controller tries no other
 * canary for a while, because each canary costs a write of the state.
 */
const mostRefused = 3;

/**
 * Seconds after which the controller sends a grant again, if the pod still does not show the grant.
 */
const resendSeconds = 2;

/**
 * Limits how many nodes hold an unproved grant at the same time. Until the canary has proved the
 * newest content (`isAlone`), the limit is one node. After that, the limit is `maxUnavailable`, and
 * it applies only to nodes whose agent restarts the kubelet. In a withdrawal, the agents can have
 * different modes.
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

  /**
   * Whether there is a free slot for a grant to this node. A withdrawal reuses the slot that the
   * node occupies already.
   */
  hasRoom({ node }: PodFacts): boolean {
    if (!this.#counts(node) || this.#nodes.size < this.#most) return true;
    return this.#nodes.has(node) && this.#nodes.size === this.#most;
  }

  /** True if too many nodes hold an unproved grant, because `maxUnavailable` was lowered. */
  isOverfull({ node }: PodFacts): boolean {
    return this.#counts(node) && this.#nodes.size > this.#most;
  }

  take({ node }: PodFacts): void {
    if (this.#counts(node)) this.#nodes.add(node);
  }

  /**
   * Whether the limit applies to this node. It applies if the node's pod is deleted, because the
   * mode of a deleted pod is unknown.
   */
  #counts(node: string): boolean {
    if (this.#alone) return true;
    const pod = this.#survey.byNode.get(node)?.pod;
    return pod?.mode === undefined || pod.mode === "Restart";
  }
}

/**
 * Raises the annotation `sync` of pods whose grant shows no effect. The kubelet then syncs the
 * volume. A pod that shows an effect needs no second patch.
 */
export function raiseSync(survey: Survey): void {
  for (const { pod, record, grantState } of survey.pods) {
    if (grantState.is !== "unproved" && grantState.is !== "back") continue;
    if (survey.written.has(pod.uid)) continue;
    const { mode = survey.secret.mode, probation = survey.snapshot.policy.probation } = pod;
    const usual = usualSeconds(mode, probation);
    const working = workingSeconds(pod, record, usual, survey.now);
    if (working > 0) {
      survey.recheckIn(working);
      continue;
    }
    const waited = survey.now.steady - record.grantAt;
    const due = syncSeconds.filter((after) => after <= waited).length;
    const next = syncSeconds[due];
    if (next !== undefined) survey.recheckIn(next - waited);
    if (due <= record.syncs) continue;
    survey.records.set(pod.uid, { ...record, syncs: due });
    survey.actions.push({ kind: "sync", pod });
  }
}

/** Grants the newest content to as many nodes as there are free slots. */
export function fillWindow(survey: Survey): void {
  const window = new Window(survey);
  const lost = retriedNodes(survey.state);
  resend(survey, window);
  if (survey.isAlone() && isRefusedEverywhere(survey)) return;
  const candidates = survey.pods.filter((surveyed) => isCandidate(survey, surveyed, lost));
  for (const candidate of inOrder(survey, candidates, lost))
    if (window.hasRoom(candidate.pod)) grant(survey, window, candidate);
}

/**
 * True while admission has refused so many pods within a minute that it probably refuses all pods.
 */
function isRefusedEverywhere(survey: Survey): boolean {
  const remaining = survey.pods.flatMap(({ record: { refused } }) =>
    refused === undefined ? [] : absenceSeconds - (survey.now.steady - refused.last),
  );
  const last = remaining.toSorted((a, b) => b - a)[mostRefused - 1] ?? 0;
  if (last > 0) survey.recheckIn(last);
  return last > 0;
}

/** Sends a grant again if its request got no answer and shows no effect. */
function resend(survey: Survey, window: Window): void {
  for (const surveyed of survey.pods) {
    const { sent } = surveyed.record;
    if (sent === undefined || survey.written.has(surveyed.pod.uid)) continue;
    const waited = survey.now.steady - sent.at;
    if (waited < resendSeconds) survey.recheckIn(resendSeconds - waited);
    else if (!window.isOverfull(surveyed.pod) && !surveyed.pod.isDeleting)
      grant(survey, window, surveyed);
    else survey.recheckIn(resendSeconds);
  }
}

/**
 * True if the agent refused the newest content, or reported a failure. False for a node that was
 * unreachable or late, because such a node gets the grant of a withdrawal again at once.
 */
const hasRefused = (
  { terminationMessage: message }: PodFacts,
  { revision }: SecretFacts,
): boolean => message?.revision === revision && message.kind !== "proved";

function isCandidate(survey: Survey, surveyed: SurveyedPod, lost: ReadonlySet<string>): boolean {
  const { secret, state } = survey;
  const { pod, record } = surveyed;
  const held = pod.grant;
  if (pod.isDeleting || survey.written.has(pod.uid)) return false;
  if (record.sent !== undefined) return false;
  if (pod.unreachable !== undefined || isAway(record, survey.now)) return false;
  if (!survey.isRelease() && (survey.taken.has(pod.node) || pod.mode !== secret.mode)) return false;
  // If someone deleted the state, the canary's proof is lost as well. A node that already has the
  // content can then prove it again, without a change.
  if (holdsNewest(pod, secret)) {
    const isSilent = surveyed.grantState.is === "proved" && pod.grant?.word === false;
    return survey.lacksProof() && isSilent && survey.mayPatch(record);
  }
  if (!pod.ready.is && !takesUnready(survey, surveyed)) return false;
  if (!survey.mayPatch(record)) return false;
  const hasEnded =
    held === undefined
      ? inheritsFailure(pod, secret)
      : held.revision === 0 && held.digest === String(secret.revision);
  if (!hasEnded || (survey.isRelease() && !hasRefused(pod, secret))) return true;
  if (state.lost.length > 0 && isRetried(survey, lost, surveyed)) return true;
  // Each try restarts the kubelet, so we try less and less often while a node keeps failing.
  const { revision, count } = record.failures ?? { revision: 0, count: 1 };
  const pause = retrySeconds(revision === secret.revision ? count : 1);
  const remaining = pause - (survey.now.steady - record.readyAt);
  if (remaining > 0) survey.recheckIn(remaining);
  return remaining <= 0;
}

/**
 * Whether a NotReady pod is allowed to get a grant. Usually not, because an agent that does not run
 * cannot use a grant and would only occupy a slot. But if a pod is NotReady because of its present
 * grant, a withdrawal replaces this grant at once.
 */
function takesUnready(survey: Survey, { pod: { grant: held }, grantState }: SurveyedPod): boolean {
  if (!survey.isRelease() || held === undefined || held.revision === 0) return false;
  return (
    grantState.is !== "excused" || grantState.because === "unfit" || grantState.because === "behind"
  );
}

/**
 * The order of candidates. The first of these criteria that differs decides:
 * - In a retry, nodes that failed come first.
 * - As canary, a node that already has the content comes first.
 * - As canary, a node whose grants admission refuses comes later.
 * - The recorded canary stays the canary, even with a new pod, because the content might have
 *   broken the canary's node.
 * - As canary, a node whose agent exited lately comes later. A canary proves the content by another
 *   exit of its agent, and the kubelet would delay the agent's restart.
 * - Nodes that joined after the publication come later. They delay neither a promotion nor a
 *   withdrawal, and many of them must not delay the other nodes.
 * - Nodes with older content come first.
 */
function inOrder(
  survey: Survey,
  candidates: readonly SurveyedPod[],
  lost: ReadonlySet<string>,
): readonly SurveyedPod[] {
  const alone = survey.isAlone();
  const { publishedAt } = survey.secret;
  const { canary } = survey.state;
  // Combines these criteria into one number, in which an earlier criterion outweighs all later
  // criteria. Revisions stay below 2^40.
  const rank = (candidate: SurveyedPod): number => {
    const { node, lastExit, grant, created } = candidate.pod;
    const isTired = alone && lastExit !== undefined && survey.now.api - lastExit < restedSeconds;
    const isOther = alone && canary !== undefined && canary.node !== node;
    const hasIt = holdsNewest(candidate.pod, survey.secret);
    const group = [
      !isRetried(survey, lost, candidate),
      alone && !hasIt,
      alone && candidate.record.refused !== undefined,
      isOther,
      isTired,
      created > publishedAt,
    ];
    const order = group.reduce((number, isLater) => 2 * number + Number(isLater), 0);
    return order * 2 ** 40 + (grant?.revision ?? 0);
  };
  return candidates
    .map((candidate) => ({ candidate, rank: rank(candidate) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ candidate }) => candidate);
}

/**
 * Grants the newest content. Records the canary's Node first, because the Node might disappear
 * after the grant.
 */
function grant(survey: Survey, window: Window, { pod, record }: SurveyedPod): void {
  const { secret, now } = survey;
  const alone = survey.isAlone();
  // The pod of a deleted Node remains for another minute. Such a pod cannot prove anything, and
  // would count as a lost canary. So the pod gets no grant and no slot.
  if (alone && survey.isGone(pod.node, pod.created) === true) return;
  window.take(pod);
  if (alone) {
    const uid = survey.uidOf(pod);
    // The canary cannot be recorded without the uid, so the Node is read first.
    if (uid === undefined) return void survey.taken.add(pod.node);
    const { canary } = survey.state;
    if (canary?.uid !== uid) {
      survey.change({ canary: { node: pod.node, uid } });
      survey.save();
    }
  }
  const word = survey.isRelease() || survey.lacksProof();
  const { revision, digest } = secret;
  const newGrant: Grant = { revision, digest, since: pod.ready.since, word };
  survey.actions.push({ kind: "grant", pod, grant: newGrant });
  survey.granted.add(pod.uid);
  survey.written.add(pod.uid);
  survey.taken.add(pod.node);
  const sent = { resourceVersion: pod.resourceVersion, at: now.steady, held: record.holds };
  survey.records.set(pod.uid, { ...record, holds: true, sent });
}

/**
 * Replaces pods of older templates, because the DaemonSet's update strategy is OnDelete. Records
 * each node before its pod is deleted. At most `maxUnavailable` recorded nodes wait for a Ready
 * pod. So if an image cannot start, at most `maxUnavailable` nodes lose their agent. If a pod has
 * been NotReady for 60 s, the controller replaces it without a record. If the API server refuses to
 * delete a pod, the record of its node is removed, so that other pods are replaced.
 */
export function replacePods(survey: Survey): void {
  const { snapshot, state } = survey;
  const { maxUnavailable } = snapshot.policy;
  const most = Math.min(mostListed, maxUnavailable === "all" ? Infinity : maxUnavailable);
  const replaced = new Set(state.replaced.filter((node) => !hasArrived(survey, node)));
  const deleted: SurveyedPod[] = [];
  for (const surveyed of survey.pods) {
    if (!isReplaced(survey, surveyed)) continue;
    const { pod, record } = surveyed;
    if (record.refusedDeletion !== undefined) replaced.delete(pod.node);
    if (!survey.mayPatch({ refused: record.refusedDeletion })) continue;
    const notReady = survey.now.steady - record.readyAt;
    if (!pod.ready.is && notReady < absenceSeconds) survey.recheckIn(absenceSeconds - notReady);
    const isCounted = pod.ready.is || notReady < absenceSeconds;
    if (isCounted && !replaced.has(pod.node)) {
      if (replaced.size >= most) continue;
      replaced.add(pod.node);
    }
    deleted.push(surveyed);
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
 * True if the node's new pod is Ready, or if the Node is gone. During a withdrawal, any Ready pod
 * counts as new.
 */
function hasArrived(survey: Survey, node: string): boolean {
  const pod = survey.byNode.get(node)?.pod;
  if (pod === undefined) return survey.isGone(node, Infinity) === true;
  return pod.ready.is && (pod.isCurrent || survey.isRelease());
}

function isReplaced(survey: Survey, { pod, grantState }: SurveyedPod): boolean {
  if (pod.isCurrent || pod.isDeleting || pod.unreachable !== undefined) return false;
  if (survey.written.has(pod.uid)) return false;
  // A pod with an unproved grant is not deleted, because the slot would stay occupied, and the
  // node's kubelet might be down at that moment.
  if (survey.taken.has(pod.node)) return false;
  // During a withdrawal, replace only NotReady pods, because they cannot take part.
  if (!survey.isRelease()) return true;
  const hasConfirmed = grantState.is === "proved" && holdsNewest(pod, survey.secret);
  return !pod.ready.is && !hasConfirmed;
}
