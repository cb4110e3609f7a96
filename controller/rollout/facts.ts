/**
 * What the decisions about grants see: one snapshot of the objects, and the time. Pure.
 *
 * Two kinds of time never meet. Times of the API (creation, publication, exits) are seconds since
 * 1970 as the API server counts them, and are compared with each other and with `Now.api` alone.
 * Everything shorter than an hour is measured with `Now.steady`, from the moment this process first
 * saw it, because kubelets' clocks differ and clocks are set. After a restart of the controller
 * these waits begin again, so they end later, never earlier.
 */
import { keyOf, type Grant, type GrantKey } from "#contract/grant.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { WordKind } from "#contract/word.ts";

/** The time of one decision. */
export type Now = Readonly<{
  /** Seconds of a clock of this process that never goes back. Its zero has no meaning. */
  steady: number;
  /** Seconds since 1970 by the API server's clock, for instance from the header Date. */
  api: number;
}>;

/** What global-pull-secret holds. */
export type SecretFacts = Readonly<{
  revision: number;
  /** Salted digest of the newest content. */
  digest: string;
  mode: DeliveryMode;
  intent: "apply" | "release";
  /** 0: nothing. `revision`: the newest content. Otherwise the revision in the served slot. */
  served: number;
  /** API time at which the newest content was published. */
  publishedAt: number;
}>;

/** The termination message of the agent's container, if it is about a grant. */
type TerminationMessage = GrantKey &
  Readonly<{
    kind: Exclude<WordKind, "released">;
    /** The revision in the node's journal. */
    journal: number;
  }>;

export type PodFacts = Readonly<{
  uid: string;
  node: string;
  /** API time. */
  created: number;
  resourceVersion: string;
  isDeleting: boolean;
  /** The template that it was made from is the DaemonSet's present one. */
  isCurrent: boolean;
  /** The mode of its template; undefined for a template from before grants, which ignores them. */
  mode: DeliveryMode | undefined;
  grant: Grant | undefined;
  /** The condition ContainersReady; `since` is its transition time, as written there. */
  ready: Readonly<{ is: boolean; since: string }>;
  /** Transition time of a condition Ready=False of a pod whose containers are Ready. */
  unreachable: string | undefined;
  terminationMessage: TerminationMessage | undefined;
  /** API time at which its container last exited. */
  lastExit: number | undefined;
  /** Why its container waits, as the kubelet reports it: ImagePullBackOff, CreateContainerError. */
  waitingReason: string | undefined;
}>;

export type NodeFacts = Readonly<{ uid: string; created: number }>;

/** The Nodes that were read. A name without facts was read and does not exist. */
export type NodesRead = Readonly<{
  byName: ReadonlyMap<string, NodeFacts | undefined>;
  /** All Nodes that the DaemonSet serves were listed, so every other name does not exist. */
  all: boolean;
}>;

/** global-pull-secret-state. It belongs to one revision, except `replaced` and `retry`. */
export type StateFacts = Readonly<{
  revision: number;
  /** A canary gave its word. */
  word: boolean;
  /** The highest creation time of the agents' pods at that moment. */
  base: number;
  /**
   * While nodes that joined before the promotion hold something older: the highest creation time of
   * the agents' pods at the promotion. Otherwise -1.
   */
  awaited: number;
  /** The canary's Node, recorded before its grant. */
  canary: Readonly<{ node: string; uid: string }> | undefined;
  halted: boolean;
  /** Uids of Nodes that failed since the last retry. */
  failed: readonly string[];
  /** Uids of Nodes that had failed when a retry was requested: it begins with them. */
  lost: readonly string[];
  /** The requests for a retry that were followed. */
  retry: string;
  /** Names of Nodes whose Ready pod was deleted for an upgrade, until its successor is Ready. */
  replaced: readonly string[];
}>;

type Wanted = Readonly<{
  intent: "apply" | "release";
  /** With the salt of the published revision, so that it equals its digest for the same content. */
  digest: string;
  /** It is what was published last, as the state records beside its facts. */
  isKnown: boolean;
  /** The mode of the template as the policy wants it. */
  mode: DeliveryMode;
  /** Whether the content of a slot has a source that the wanted content lacks. */
  withdraws: Readonly<{ newest: boolean; served: boolean }>;
}>;

export type GrantPolicy = Readonly<{
  /** A number of nodes, at least 1. */
  maxUnavailable: number | "all";
  maxFailures: number;
  /** Seconds. */
  forgetAfter: number;
  /** Seconds. */
  minInterval: number;
  /** Seconds for which a restarted kubelet is watched. */
  probation: number;
}>;

export type Snapshot = Readonly<{
  secret: SecretFacts | undefined;
  state: StateFacts;
  /** The DaemonSet; `isCurrent` is false while its template differs from the wanted one. */
  template: Readonly<{ isCurrent: boolean; mode: DeliveryMode | undefined }> | undefined;
  pods: readonly PodFacts[];
  nodes: NodesRead;
  /** `status.desiredNumberScheduled` of the DaemonSet. */
  desired: number;
  wanted: Wanted;
  policy: GrantPolicy;
  isPaused: boolean;
  /** The requests for a retry, as one text; the same as in the state if none of them is new. */
  retry: string;
}>;

/** Most Nodes in a list of the state: 2,000 uids and names are 200 kB of a Secret's 1 MiB. */
export const mostListed = 2000;

/** The state of a revision of which nothing is known yet. */
export function stateOf(
  revision: number,
  { retry, replaced }: Pick<StateFacts, "retry" | "replaced">,
): StateFacts {
  return {
    revision,
    word: false,
    base: -1,
    awaited: -1,
    canary: undefined,
    halted: false,
    failed: [],
    lost: [],
    retry,
    replaced,
  };
}

/** True if both are the same grant. */
export const isSameGrant = (one: GrantKey, other: GrantKey): boolean => keyOf(one) === keyOf(other);

/** True if the pod holds a grant of the newest content. */
export const holdsNewest = ({ grant }: PodFacts, secret: SecretFacts): boolean =>
  grant?.revision === secret.revision && grant.digest === secret.digest;

/**
 * True if the Secret still holds what the grant names. Otherwise somebody edited or deleted the
 * Secret, or wrote the annotations of the pod, and the agent can never fulfil the grant.
 */
export const namesSlot = ({ revision, digest }: Grant, secret: SecretFacts): boolean =>
  revision === secret.revision ? digest === secret.digest : revision === secret.served;

/**
 * True if the node reports that the newest content failed, by a word of a pod without a grant: its
 * predecessor was deleted under the grant, and the successor ended the change.
 */
export const inheritsFailure = (
  { grant, terminationMessage: message }: PodFacts,
  secret: SecretFacts,
): boolean =>
  grant === undefined &&
  message?.kind === "failed" &&
  message.revision === secret.revision &&
  message.digest === secret.digest;

/**
 * Whether the Node is gone: deleted, or replaced by one of the same name that is younger than
 * `than`, an API time. Undefined if the Node was not read.
 */
export function isNodeGone(nodes: NodesRead, name: string, than: number): boolean | undefined {
  const node = nodes.byName.get(name);
  if (node !== undefined) return node.created > than;
  return nodes.all || nodes.byName.has(name) ? true : undefined;
}

/** Why a node is not waited for. */
export type ExcuseReason = "away" | "not-started" | "not-ready" | "unfit" | "behind" | "admission";

export type Refused = Readonly<{ at: number; last: number; why: string }>;

/** All times are of `Now.steady`. */
export type PodRecord = Readonly<{
  node: string;
  created: number;
  /** ContainersReady and its transition time, and since when they have been seen so. */
  ready: string;
  readyAt: number;
  /** Since when the node has been seen unreachable. */
  awayAt: number | undefined;
  /** The grant, and since when it has been seen without a proof. */
  grant: string;
  grantAt: number;
  /** Since when the grant has been seen proved without a break. */
  provedAt: number | undefined;
  /** It was once seen proved for `settledSeconds`. */
  isSettled: boolean;
  /** Neither its readiness nor its grant has changed since this process first saw it. */
  isUnchanged: boolean;
  /** Its grant takes a place. */
  holds: boolean;
  /** How often `sync` was raised for this grant. */
  syncs: number;
  /**
   * A grant that was sent for this version of the pod and is not seen yet. `held`: the pod had a
   * place before.
   */
  sent: Readonly<{ resourceVersion: string; at: number; held: boolean }> | undefined;
  /** What became of the last grant that was taken back. */
  over:
    | Readonly<
        { revision: number } & (
          | { is: "failed"; because: "word" | "away" | "late" }
          | { is: "excused"; because: ExcuseReason }
        )
      >
    | undefined;
  /** How often a grant of this revision has failed, and the last one that did. */
  failures: Readonly<{ revision: number; grant: string; count: number }> | undefined;
  /** Since when grants of this pod have been refused, when last, and why, in words to show. */
  refused: Refused | undefined;
  /** The same of its deletion for an upgrade. */
  kept: Refused | undefined;
  /** Writes of one version of the pod that had no effect, for a reason that is not known. */
  errors: Readonly<{ resourceVersion: string; count: number }> | undefined;
}>;

/** The place of a pod that was deleted under a grant. `created` is the pod's, an API time. */
export type Place = Readonly<{ created: number; at: number }>;

/**
 * A publication that the word of a Node caused, which was behind. `at`: when it last did; `count`:
 * how often; `revision`: what was published then.
 */
export type Raised = Readonly<{ at: number; count: number; revision: number }>;

export type Memory = Readonly<{
  /** By pod uid. */
  pods: ReadonlyMap<string, PodRecord>;
  /** By Node name. */
  places: ReadonlyMap<string, Place>;
  /** By Node uid: since when the Node has been seen without a pod. */
  podless: ReadonlyMap<string, Readonly<{ node: string; at: number }>>;
  /** By Node name: nodes whose word caused a publication. */
  raised: ReadonlyMap<string, Raised>;
  /**
   * Since when the number of pods has differed from the desired one; when all Nodes were last
   * listed, and what the difference was then.
   */
  list: Readonly<{ since: number | undefined; at: number | undefined; difference: number }>;
}>;

/** The memory of a process that has just started. */
export const noMemory: Memory = {
  pods: new Map(),
  places: new Map(),
  podless: new Map(),
  raised: new Map(),
  list: { since: undefined, at: undefined, difference: 0 },
};

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

export type NewerContent = Readonly<{
  /** Why something has to be published now; then nothing else is granted. */
  cause: Cause | undefined;
  /** What newer content waits for, apart from places. */
  waitsFor: "interval" | "paused" | undefined;
  /** Seconds until the interval is over. */
  waits: number;
}>;

/** Nodes that must be read before the decision can be complete. */
export type NodesToRead = Readonly<{ nodes: ReadonlySet<string>; all: boolean }>;

export type NodeState =
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
export type ListedNode = Readonly<{
  node: string;
  reason: ExcuseReason | "podless" | "word" | "away" | "late";
  /** Why the kubelet does not start its container. */
  waitingReason: string | undefined;
  /** Why its grant is refused, if that is the reason. */
  why?: string;
}>;

/** What status is derived from. Counts are of pods; a Node without one is in `excused`. */
export type View = Readonly<{
  phase: "idle" | "canary" | "rollout" | "served" | "halted" | "withdrawal";
  counts: Readonly<Record<NodeState, number>>;
  excused: readonly ListedNode[];
  failed: readonly ListedNode[];
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
  reads: NodesToRead;
  /** Seconds until the decision may be another one although nothing changes; infinite if never. */
  again: number;
  view: View;
}>;
