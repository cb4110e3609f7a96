/** What a decision about grants consists of. Pure. */
import type { Grant } from "#contract/grant.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { Excuse, Memory } from "./memory.ts";
import type { PodFacts, StateFacts } from "./facts.ts";

/**
 * One write. The caller executes them in order, each conditional on what was seen: a pod's uid and
 * resourceVersion, the version of every other object. If a write of the Secret, the state or the
 * template fails, the caller executes none of the rest. A patch or deletion of one pod that is
 * refused stops nothing. The caller passes to `afterRefusal` each refusal, and each write of a pod
 * that it did not execute.
 */
export type Action =
  | Readonly<{
      kind: "publish";
      revision: number;
      mode: DeliveryMode;
      /** What the served slot holds then: nothing, what it held, or the content that was newest. */
      served: "nothing" | "same" | "newest";
      because: Cause;
    }>
  | Readonly<{ kind: "empty-served" }>
  | Readonly<{ kind: "save"; state: StateFacts }>
  /** Saves a state that records the halt. */
  | Readonly<{ kind: "halt"; state: StateFacts }>
  | Readonly<{ kind: "grant" | "take-back"; pod: PodFacts; grant: Grant }>
  /** Raises the annotation `sync` of the pod. */
  | Readonly<{ kind: "sync"; pod: PodFacts }>
  | Readonly<{ kind: "delete"; pod: PodFacts }>
  | Readonly<{ kind: "write-template" }>
  /** The served slot becomes the newest content. */
  | Readonly<{ kind: "promote" }>
  /** Deletes what the product created: the DaemonSet first, the Secrets last. */
  | Readonly<{ kind: "complete"; isConfirmed: boolean }>;

/**
 * Why something is published: there was nothing, the content or the mode is another one, or a node
 * has proved a higher revision, which a restored etcd does not know.
 */
export type Cause = "missing" | "content" | "mode" | "behind";

/** Nodes that must be read before the decision can be complete. */
export type Reads = Readonly<{ nodes: ReadonlySet<string>; all: boolean }>;

export type Fate =
  /** It has proved the newest content. */
  | "current"
  /** Its grant is unproved, or is being taken back. */
  | "changing"
  /** It will be granted the newest content. */
  | "waiting"
  /** Its agent is starting. */
  | "starting"
  | "failed"
  | "excused";

/** A node of which status reports more than a count. */
export type Listed = Readonly<{
  node: string;
  reason: Excuse | "podless" | "word" | "away" | "late";
  /** Why the kubelet does not start its container. */
  waitingReason: string | undefined;
  /** Why its grant is refused, if that is the reason. */
  why?: string;
}>;

/** What status is derived from. Counts are of pods; a Node without one is in `excused`. */
export type View = Readonly<{
  phase: "idle" | "canary" | "rollout" | "served" | "halted" | "withdrawal";
  counts: Readonly<Record<Fate, number>>;
  excused: readonly Listed[];
  failed: readonly Listed[];
  /** Uids of all Nodes that failed since the last retry, also of those that are gone. */
  failures: number;
  /** Nodes whose grant admission refuses, from the first refusal on. */
  refused: readonly string[];
  /** Nodes whose pod may not be deleted for an upgrade, and why. */
  kept: readonly Readonly<{ node: string; why: string }>[];
  /** Places taken, of `maxUnavailable`. */
  places: number;
  /** Newer content waits: until no grant is unproved, for minInterval, or while paused. */
  pending: "no" | "places" | "interval" | "paused";
}>;

export type Decision = Readonly<{
  actions: readonly Action[];
  memory: Memory;
  /**
   * If not empty, read these and decide again, with the memory from before. Without them the
   * decision is careful, but may lack something.
   */
  reads: Reads;
  /** Seconds until the decision may be another one although nothing changes; infinite if never. */
  again: number;
  view: View;
}>;
