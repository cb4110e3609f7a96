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
} from "./facts.ts";
import { seePod, type Memory, type Place, type Raised, type Seen } from "./memory.ts";
import { absenceSeconds, isRefused, judge, type Verdict } from "./node-state.ts";
import type { Action } from "./decision.ts";

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

  /** Whether the pod is excused, by its verdict or because admission refuses its grants. */
  isExcused({ seen, verdict }: JudgedPod): boolean {
    return verdict.is === "excused" || isRefused(seen, this.now);
  }
}

const isYounger = (one: PodFacts, other: PodFacts): boolean =>
  one.isDeleting === other.isDeleting ? one.created > other.created : other.isDeleting;
