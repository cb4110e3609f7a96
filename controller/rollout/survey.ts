/**
 * One look at a snapshot: every pod with its verdict, the places that are taken, and the Nodes that
 * had to be known. The steps of `decide` share it. Pure.
 */
import { grantSeconds } from "#contract/times.ts";
import {
  inheritsFailure,
  isNodeGone,
  stateOf,
  type Now,
  type PodFacts,
  type SecretFacts,
  type Snapshot,
  type StateFacts,
  type Action,
  type Fate,
  type Listed,
  type View,
  holdsNewest,
  type Memory,
  type Place,
  type Raised,
  type Seen,
  type Newer,
} from "./facts.ts";
import {
  seePod,
  absenceSeconds,
  isRefused,
  judge,
  type Verdict,
  unbrokenSeconds,
  isAway,
} from "./node-state.ts";

/** Seconds between two patches of a pod that admission refuses, in the first minute and later. */
const refusedSoonSeconds = 5;
const refusedAgainSeconds = 60;

export type JudgedPod = Readonly<{ pod: PodFacts; seen: Seen; verdict: Verdict }>;

/** The snapshot as the steps see it. A step adds to it; no step takes anything away. */
export class Look {
  readonly snapshot: Snapshot;
  readonly secret: SecretFacts;
  readonly now: Now;
  readonly pods: readonly JudgedPod[];
  /** Per Node its pod; of two the one that is not being deleted, then the younger one. */
  readonly byNode: ReadonlyMap<string, JudgedPod>;
  /** Places of pods that were deleted under a grant. */
  readonly places: Map<string, Place>;
  /** Names of all Nodes that take a place. */
  readonly taken: Set<string>;
  readonly actions: Action[] = [];
  /** Pods that were granted something in this look. */
  readonly granted = new Set<string>();
  /** Pods that are written in this look. A second write would be refused: the version is older. */
  readonly written = new Set<string>();
  /** Changes of what is remembered of pods. */
  readonly seen = new Map<string, Seen>();
  /** By Node name: nodes whose word caused a publication. */
  readonly raised: Map<string, Raised>;
  readonly readNodes = new Set<string>();
  readAll = false;
  again = Number.POSITIVE_INFINITY;
  #state: StateFacts;

  constructor(snapshot: Snapshot, secret: SecretFacts, memory: Memory, now: Now) {
    this.snapshot = snapshot;
    this.secret = secret;
    this.now = now;
    const { state } = snapshot;
    this.#state = state.revision === secret.revision ? state : stateOf(secret.revision, state);
    const pods: JudgedPod[] = [];
    const byNode = new Map<string, JudgedPod>();
    this.taken = new Set();
    for (const found of snapshot.pods) {
      // An agent from before grants ignores them, whoever wrote one.
      const pod = found.mode === undefined ? { ...found, grant: undefined } : found;
      const isRelease = secret.intent === "release" && pod.grant?.revision === secret.revision;
      const before = seePod(pod, memory.pods.get(pod.uid), now);
      const seconds = grantSeconds(pod.mode ?? secret.mode, snapshot.policy.probation);
      const inherits = inheritsFailure(pod, secret);
      const isServed = (pod.grant?.revision ?? 0) > 0 && pod.grant?.revision === secret.served;
      const { verdict, seen, changesIn } = judge(pod, before, {
        now,
        isRelease,
        isServed,
        inherits,
        seconds,
      });
      const holds = verdict.is === "unproved" || verdict.is === "back" || seen.sent !== undefined;
      const one = { pod, seen: { ...seen, holds }, verdict };
      pods.push(one);
      this.lookIn(changesIn);
      if (holds) this.taken.add(pod.node);
      const other = byNode.get(pod.node)?.pod;
      if (other === undefined || isYounger(pod, other)) byNode.set(pod.node, one);
      this.seen.set(pod.uid, one.seen);
    }
    this.pods = pods;
    this.byNode = byNode;
    this.places = new Map(memory.places);
    this.raised = new Map(memory.raised);
    for (const [uid, { holds, node, created }] of memory.pods)
      if (holds && !this.seen.has(uid)) this.places.set(node, { created, at: now.steady });
  }

  get state(): StateFacts {
    return this.#state;
  }

  /** Changes the state, without a write: `save` writes it. */
  change(changes: Partial<StateFacts>): void {
    this.#state = { ...this.#state, ...changes };
  }

  /** Writes the state if it is not what is stored. */
  save(): void {
    this.actions.push({ kind: "save", state: this.#state });
  }

  isRelease(): boolean {
    return this.secret.intent === "release";
  }

  /** The newest content is what new nodes get. */
  isPromoted(): boolean {
    return this.secret.served === this.secret.revision;
  }

  /** Looks again after so many seconds at the latest. */
  lookIn(seconds: number): void {
    if (seconds < this.again) this.again = Math.max(0, seconds);
  }

  /** Whether the Node is gone; undefined, and to be read, if that is not known. */
  isGone(node: string, than: number): boolean | undefined {
    const gone = isNodeGone(this.snapshot.nodes, node, than);
    if (gone === undefined) this.readNodes.add(node);
    return gone;
  }

  /** The uid of the pod's Node; undefined, and to be read, if it is not known. */
  uidOf({ node, uid }: PodFacts): string | undefined {
    const { byName, all } = this.snapshot.nodes;
    const found = byName.get(node)?.uid;
    if (found !== undefined) return found;
    // A pod without a Node is about to be deleted. It still counts, once.
    if (all || byName.has(node)) return `pod/${uid}`;
    this.readNodes.add(node);
    return undefined;
  }

  /** Whether it is time to patch the pod, if admission refused it before. */
  mayPatch({ refused }: Pick<Seen, "refused">): boolean {
    if (refused === undefined) return true;
    const isLong = this.now.steady - refused.at >= absenceSeconds;
    const pause = isLong ? refusedAgainSeconds : refusedSoonSeconds;
    const left = pause - (this.now.steady - refused.last);
    if (left > 0) this.lookIn(left);
    return left <= 0;
  }

  /** True while only one node may hold the newest content. */
  isAlone(): boolean {
    return this.lacksWord() && this.snapshot.policy.maxUnavailable !== "all";
  }

  /** No node has proved the newest content by its word, which a promotion needs. */
  lacksWord(): boolean {
    return !this.isRelease() && !this.isPromoted() && !this.state.word;
  }

  /** Whether the pod is excused, by its verdict or because admission refuses its grants. */
  isExcused({ seen, verdict }: JudgedPod): boolean {
    return verdict.is === "excused" || isRefused(seen, this.now);
  }
}

const isYounger = (one: PodFacts, other: PodFacts): boolean =>
  one.isDeleting === other.isDeleting ? one.created > other.created : other.isDeleting;

/**
 * Decides about the places of pods that were deleted under a grant, whose kubelet may be changing.
 * Such a place lasts until the successor was Ready for 3 s or the Node is gone. A node without a
 * Ready successor for 60 s has failed: its uid is returned.
 */
export function settlePlaces(look: Look): readonly string[] {
  const failed: string[] = [];
  for (const [node, place] of look.places) {
    const successor = look.byNode.get(node);
    const isGone = look.isGone(node, place.created);
    const end = (): boolean => look.places.delete(node);
    if (isGone === true) {
      end();
      continue;
    }
    const waited = look.now.steady - (successor?.seen.readyAt ?? place.at);
    if (successor?.pod.ready.is === true) {
      if (waited >= unbrokenSeconds) end();
      else look.lookIn(unbrokenSeconds - waited);
      continue;
    }
    const is = successor?.verdict.is;
    const isLost = successor ? is === "excused" || is === "failed" : waited >= absenceSeconds;
    if (!isLost) {
      look.lookIn(successor ? 1 : absenceSeconds - waited);
      continue;
    }
    // Whether it failed is known only if the Node still exists.
    const uid = look.snapshot.nodes.byName.get(node)?.uid;
    if (uid === undefined) continue;
    // The place lasts until the failure is stored, so a write that is refused forgets neither.
    if (look.isRelease() || look.state.failed.includes(uid)) end();
    else failed.push(uid);
  }
  for (const node of look.places.keys()) look.taken.add(node);
  return failed;
}

const noCounts: Readonly<Record<Fate, number>> = {
  current: 0,
  changing: 0,
  waiting: 0,
  starting: 0,
  failed: 0,
  excused: 0,
};

/** The view while no content is published. */
export const idleView: View = {
  phase: "idle",
  counts: noCounts,
  excused: [],
  failed: [],
  failures: 0,
  refused: [],
  kept: [],
  places: 0,
  pending: "no",
};

/** The view of one look, with the Nodes that have been without a pod for 60 s. */
export function viewOf(look: Look, podless: Memory["podless"], newer: Newer): View {
  const counts = { ...noCounts };
  const lists: { failed: Listed[]; excused: Listed[] } = { failed: [], excused: [] };
  const refused: string[] = [];
  const kept: { node: string; why: string }[] = [];
  for (const one of look.byNode.values()) {
    const { node, waitingReason } = one.pod;
    const { fate, reason } = fateOf(look, one);
    counts[fate] += 1;
    if ((fate === "failed" || fate === "excused") && reason !== undefined)
      lists[fate].push({ node, reason, waitingReason, ...refusalOf(one, reason) });
    if (one.seen.refused !== undefined) refused.push(node);
    // Nothing is wanted of a pod that is as it should be.
    if (one.seen.kept !== undefined && !one.pod.isCurrent)
      kept.push({ node, why: one.seen.kept.why });
  }
  for (const { node, at } of podless.values()) {
    const left = absenceSeconds - (look.now.steady - at);
    if (left > 0) look.lookIn(left);
    else lists.excused.push({ node, reason: "podless", waitingReason: undefined });
  }
  return {
    phase: phaseOf(look),
    counts,
    ...lists,
    failures: look.state.failed.length,
    refused,
    kept,
    places: look.taken.size,
    pending: pendingOf(newer),
  };
}

const refusalOf = ({ seen }: JudgedPod, reason: Listed["reason"]): Pick<Listed, "why"> =>
  reason === "admission" && seen.refused !== undefined ? { why: seen.refused.why } : {};

function phaseOf(look: Look): View["phase"] {
  if (look.isRelease()) return "withdrawal";
  if (look.state.halted) return "halted";
  if (look.isPromoted()) return "served";
  return look.isAlone() ? "canary" : "rollout";
}

type Found = Readonly<{ fate: Fate; reason?: Listed["reason"] }>;

function fateOf(look: Look, { pod, seen, verdict }: JudgedPod): Found {
  const over = seen.over?.revision === look.secret.revision ? seen.over : undefined;
  // That its agent has not answered since is the same failure.
  if (over?.is === "failed" && verdict.is === "excused")
    return { fate: "failed", reason: over.because };
  if (verdict.is === "failed" || verdict.is === "excused")
    return { fate: verdict.is, reason: verdict.because };
  if (verdict.is === "proved" && holdsNewest(pod, look.secret)) return { fate: "current" };
  // Also in the look in which it is tried again.
  if (isRefused(seen, look.now)) return { fate: "excused", reason: "admission" };
  if (look.taken.has(pod.node) && verdict.is !== "back") return { fate: "changing" };
  if (over !== undefined) return { fate: over.is, reason: over.because };
  const ofWord = outcomeOfWord(look, pod);
  if (ofWord !== undefined) return ofWord;
  if (verdict.is === "back") return { fate: "changing" };
  if (isAway(seen, look.now)) return { fate: "excused", reason: "away" };
  return { fate: pod.ready.is ? "waiting" : "starting" };
}

/** After a restart of the controller, the word of a grant that was taken back still explains it. */
function outcomeOfWord(look: Look, { grant, word }: JudgedPod["pod"]): Found | undefined {
  if (grant?.revision !== 0 || word?.revision !== look.secret.revision) return undefined;
  if (word.kind === "proved") return undefined;
  return word.kind === "failed"
    ? { fate: "failed", reason: "word" }
    : { fate: "excused", reason: word.kind };
}

/** What status reports of newer content that is not published yet. */
const pendingOf = ({ cause, waitsFor }: Newer): View["pending"] =>
  waitsFor ?? (cause === undefined ? "no" : "places");
