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
import { isLost, lostOf } from "./halt.ts";
import type { JudgedPod, Look } from "./survey.ts";
import { againAfter, isAway, syncSeconds, absenceSeconds } from "./node-state.ts";

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
  readonly #look: Look;
  readonly #alone: boolean;
  readonly #most: number;
  readonly #nodes: Set<string>;

  constructor(look: Look) {
    const { maxUnavailable } = look.snapshot.policy;
    this.#look = look;
    this.#alone = look.isAlone();
    const rest = maxUnavailable === "all" ? Infinity : maxUnavailable;
    this.#most = this.#alone ? 1 : rest;
    this.#nodes = new Set([...look.taken].filter((node) => this.#counts(node)));
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
    const pod = this.#look.byNode.get(node)?.pod;
    return pod?.mode === undefined || pod.mode === "Restart";
  }
}

/** Raises `sync` of pods whose grant shows no effect, so that the kubelet syncs the volume. */
export function raiseSync(look: Look): void {
  for (const { pod, seen, verdict } of look.pods) {
    if (verdict.is !== "unproved" && verdict.is !== "back") continue;
    if (look.written.has(pod.uid)) continue;
    const waited = look.now.steady - seen.grantAt;
    const due = syncSeconds.filter((after) => after <= waited).length;
    const next = syncSeconds[due];
    if (next !== undefined) look.lookIn(next - waited);
    if (due <= seen.syncs) continue;
    look.seen.set(pod.uid, { ...seen, syncs: due });
    look.actions.push({ kind: "sync", pod });
  }
}

/** Grants the newest content to as many nodes as have a place. */
export function fillWindow(look: Look): void {
  const window = new Window(look);
  const lost = lostOf(look.state);
  resend(look, window);
  const candidates = look.pods.filter((one) => isCandidate(look, one, lost));
  for (const one of inOrder(look, candidates, lost))
    if (window.hasRoom(one.pod)) grant(look, window, one);
}

/** Sends a grant again of which neither an answer nor an effect is known. */
function resend(look: Look, window: Window): void {
  for (const one of look.pods) {
    const { sent } = one.seen;
    if (sent === undefined || look.written.has(one.pod.uid)) continue;
    const waited = look.now.steady - sent.at;
    if (waited < resendSeconds) look.lookIn(resendSeconds - waited);
    else if (!window.isOverfull(one.pod) && !one.pod.isDeleting) grant(look, window, one);
    else look.lookIn(resendSeconds);
  }
}

/**
 * Its agent refused the newest content. Others were away, or late: a withdrawal asks them at once.
 */
const hasRefused = ({ word }: PodFacts, { revision }: SecretFacts): boolean =>
  word?.revision === revision && word.kind !== "proved";

function isCandidate(look: Look, one: JudgedPod, lost: ReadonlySet<string>): boolean {
  const { secret, state } = look;
  const { pod, seen } = one;
  const held = pod.grant;
  if (pod.mode === undefined || pod.isDeleting || look.written.has(pod.uid)) return false;
  if (seen.sent !== undefined) return false;
  if (pod.unreachable !== undefined || isAway(seen, look.now)) return false;
  if (!look.isRelease() && (look.taken.has(pod.node) || pod.mode !== secret.mode)) return false;
  // A word may be lost with the state. A node that has the content gives it without another change.
  if (holdsNewest(pod, secret))
    return look.lacksWord() && one.verdict.is === "proved" && pod.grant?.word === false;
  if (!pod.ready.is && !takesUnready(look, one)) return false;
  if (!look.mayPatch(seen)) return false;
  const hasEnded =
    held === undefined
      ? inheritsFailure(pod, secret)
      : held.revision === 0 && held.digest === String(secret.revision);
  if (!hasEnded || (look.isRelease() && !hasRefused(pod, secret))) return true;
  if (state.lost.length > 0 && isLost(look, lost, one)) return true;
  // A node that fails each time is tried ever more rarely: each try restarts its kubelet.
  const { revision, count } = seen.failures ?? { revision: 0, count: 1 };
  const pause = againAfter(revision === secret.revision ? count : 1);
  const left = pause - (look.now.steady - seen.readyAt);
  if (left > 0) look.lookIn(left);
  return left <= 0;
}

/**
 * An agent that does not run takes nothing, and would only keep a place. It may also be NotReady
 * because of its grant, which a withdrawal replaces at once.
 */
function takesUnready(look: Look, { pod: { grant: held }, verdict }: JudgedPod): boolean {
  if (!look.isRelease() || held === undefined || held.revision === 0) return false;
  return verdict.is !== "excused" || verdict.because === "unfit" || verdict.because === "behind";
}

/**
 * A retry begins on nodes that failed. A canary whose pod was deleted stays the canary: the
 * content may have broken its node, and this may be forgotten. A canary proves by an exit, so one
 * whose container has not exited lately is better. Then come the nodes with the oldest content.
 * Nodes that joined later come last: they delay neither a promotion nor a withdrawal, and many of
 * them must not delay the others.
 */
function inOrder(
  look: Look,
  candidates: readonly JudgedPod[],
  lost: ReadonlySet<string>,
): readonly JudgedPod[] {
  const alone = look.isAlone();
  const { publishedAt } = look.secret;
  const { canary } = look.state;
  // One number: the first difference decides. Revisions stay below 2^40.
  const rank = (one: JudgedPod): number => {
    const { node, lastExit, grant, created } = one.pod;
    const isTired = alone && lastExit !== undefined && look.now.api - lastExit < restedSeconds;
    const isOther = alone && canary !== undefined && canary.node !== node;
    const hasIt = holdsNewest(one.pod, look.secret);
    const group = [
      !isLost(look, lost, one),
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
function grant(look: Look, window: Window, { pod, seen }: JudgedPod): void {
  const { secret, now } = look;
  const alone = look.isAlone();
  // The pod of a deleted Node exists for another minute. That Node could not prove anything, and
  // would count as a canary that disappeared. It takes no place from another candidate.
  if (alone && look.isGone(pod.node, pod.created) === true) return;
  window.take(pod);
  if (alone) {
    const uid = look.uidOf(pod);
    // Without it nothing may be granted, so the Node is read first.
    if (uid === undefined) return void look.taken.add(pod.node);
    const { canary } = look.state;
    if (canary?.uid !== uid) {
      look.change({ canary: { node: pod.node, uid } });
      look.save();
    }
  }
  const word = look.isRelease() || look.lacksWord();
  const { revision, digest } = secret;
  const given: Grant = { revision, digest, since: pod.ready.since, word };
  look.actions.push({ kind: "grant", pod, grant: given });
  look.granted.add(pod.uid);
  look.written.add(pod.uid);
  look.taken.add(pod.node);
  const sent = { resourceVersion: pod.resourceVersion, at: now.steady, held: seen.holds };
  look.seen.set(pod.uid, { ...seen, holds: true, sent });
}

/**
 * Records nodes and deletes their pods. At most `maxUnavailable` recorded nodes wait for a
 * successor that is Ready, so an image that cannot start takes away no more agents than that. A pod
 * that has not been Ready for 60 s is replaced without a record, because nothing is lost with it. A
 * pod whose deletion is refused gives up its record, so that the others are replaced.
 */
export function replacePods(look: Look): void {
  const { snapshot, state } = look;
  const { maxUnavailable } = snapshot.policy;
  const most = Math.min(mostListed, maxUnavailable === "all" ? Infinity : maxUnavailable);
  const replaced = new Set(state.replaced.filter((node) => !hasArrived(look, node)));
  const deleted: JudgedPod[] = [];
  for (const one of look.pods) {
    if (!isReplaced(look, one)) continue;
    const { pod, seen } = one;
    if (seen.kept !== undefined) replaced.delete(pod.node);
    if (!look.mayPatch({ refused: seen.kept })) continue;
    const notReady = look.now.steady - seen.readyAt;
    if (!pod.ready.is && notReady < absenceSeconds) look.lookIn(absenceSeconds - notReady);
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
    look.change({ replaced: names });
    look.save();
  }
  for (const { pod } of deleted) {
    look.actions.push({ kind: "delete", pod });
    look.written.add(pod.uid);
  }
}

/**
 * Its successor is Ready, or the Node is gone. A withdrawal leaves Ready pods in place, also
 * those of a template that is not the newest any more.
 */
function hasArrived(look: Look, node: string): boolean {
  const found = look.byNode.get(node)?.pod;
  if (found === undefined) return look.isGone(node, Infinity) === true;
  const remains = look.isRelease() && found.mode !== undefined;
  return found.ready.is && (found.isCurrent || remains);
}

function isReplaced(look: Look, { pod, verdict }: JudgedPod): boolean {
  if (pod.isCurrent || pod.isDeleting || pod.unreachable !== undefined) return false;
  if (look.written.has(pod.uid)) return false;
  // A pod that is deleted under a grant would keep its place, and its node's kubelet may be down.
  if (look.taken.has(pod.node)) return false;
  // During a withdrawal only pods that cannot take it: not Ready, or from before grants.
  if (!look.isRelease()) return true;
  const hasConfirmed = verdict.is === "proved" && holdsNewest(pod, look.secret);
  return pod.mode === undefined || (!pod.ready.is && !hasConfirmed);
}
