/**
 * The data of a rollout's decision: its input (a snapshot of the objects, and the time), its
 * memory, and its result. Pure.
 *
 * There are two kinds of time, and they are never compared. API times (creation, publication,
 * exits) are seconds since 1970 by the API server's clock. They are compared only with each other
 * and with `Now.api`, for `minInterval`, `forgetAfter` and the time since a container exited. All
 * other waits are measured with `Now.steady`, from the moment this process first saw their reason,
 * because kubelets' clocks differ and people set clocks. After a restart of the controller these
 * waits begin again, so they can end later but never earlier.
 */
import { keyOf, type Grant, type GrantKey } from "#contract/grant.ts";
import type { PublishedMode } from "#contract/names.ts";
import type { MessageKind } from "#contract/termination-message.ts";

export type Now = Readonly<{
  /** Seconds of a clock of this process that never goes back. The zero point has no meaning. */
  steady: number;
  /** Seconds since 1970 by the API server's clock, for example from the header Date. */
  api: number;
}>;

/** The contents of global-pull-secret. */
export type SecretFacts = Readonly<{
  revision: number;
  /** Salted digest of the newest content. */
  digest: string;
  mode: PublishedMode;
  intent: "apply" | "release";
  /** The revision that new nodes get: `revision` after the promotion, 0 if nothing is served. */
  served: number;
  /** API time of the publication of the newest content. */
  publishedAt: number;
}>;

/** The termination message of the agent's container, if it is about a grant. */
type TerminationMessage = GrantKey &
  Readonly<{
    kind: Exclude<MessageKind, "released">;
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
  /** The pod was made from the present template of the DaemonSet. */
  isCurrent: boolean;
  /** The mode of the pod's template. Undefined if someone removed the annotation. */
  mode: PublishedMode | undefined;
  /**
   * Seconds for which the pod's agent watches a restarted kubelet. Until the pod is replaced, this
   * time can differ from the policy's probation. Undefined: unknown, and the policy's probation is
   * used.
   */
  probation?: number | undefined;
  grant: Grant | undefined;
  /** The condition ContainersReady. `since` is its transition time, as the API server stores it. */
  ready: Readonly<{ is: boolean; since: string }>;
  /**
   * Set if the node is unreachable (the pod is not Ready, but its containers are): the transition
   * time of the condition Ready.
   */
  unreachable: string | undefined;
  terminationMessage: TerminationMessage | undefined;
  /** API time of the last exit of the agent's container. */
  lastExit: number | undefined;
  /** Why the container waits, as the kubelet reports it: ImagePullBackOff, CreateContainerError. */
  waitingReason: string | undefined;
}>;

export type NodeFacts = Readonly<{ uid: string; created: number }>;

/**
 * The Nodes that were read, by name. A name whose value is undefined: the Node was read and does
 * not exist.
 */
export type NodesRead = Readonly<{
  byName: ReadonlyMap<string, NodeFacts | undefined>;
  /**
   * All Nodes that the DaemonSet serves were listed. A Node that is not in the list does not exist.
   */
  all: boolean;
}>;

/** global-pull-secret-state. All fields except `replaced` and `retry` are about one revision. */
export type StateFacts = Readonly<{
  revision: number;
  /** A canary has proved the content with its termination message. */
  word: boolean;
  /** The highest creation time of the agents' pods when the canary proved the content. */
  base: number;
  /**
   * The highest creation time of the agents' pods at the promotion, while a node that joined before
   * the promotion has older content. -1 if there is no such node.
   */
  awaited: number;
  /** The canary's Node, recorded before its grant. */
  canary: Readonly<{ node: string; uid: string }> | undefined;
  halted: boolean;
  /** Uids of Nodes that failed since the last retry. */
  failed: readonly string[];
  /**
   * Uids of Nodes that had failed when a retry was requested. The retry begins with these Nodes.
   */
  lost: readonly string[];
  /** The retry requests for which a retry has begun. */
  retry: string;
  /** Names of Nodes whose Ready pod was deleted for an upgrade, until the next pod is Ready. */
  replaced: readonly string[];
}>;

type Wanted = Readonly<{
  intent: "apply" | "release";
  /** Computed with the salt of the published revision, so the same content has the same digest. */
  digest: string;
  /** True if, according to the state Secret, the last published content is the wanted content. */
  isKnown: boolean;
  /** The mode that the policy wants in the template. */
  mode: PublishedMode;
  /** For each slot: whether its content has a source that the wanted content lacks. */
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
  /** How many seconds agents of the wanted template watch a restarted kubelet. */
  probation: number;
}>;

export type Snapshot = Readonly<{
  secret: SecretFacts | undefined;
  state: StateFacts;
  /** The DaemonSet; `isCurrent` is false while its template differs from the wanted template. */
  template: Readonly<{ isCurrent: boolean; mode: PublishedMode | undefined }> | undefined;
  pods: readonly PodFacts[];
  nodes: NodesRead;
  /** `status.desiredNumberScheduled` of the DaemonSet. */
  desired: number;
  target: Wanted;
  policy: GrantPolicy;
  isPaused: boolean;
  /**
   * The retry requests as one text. If no request is new, this text equals the text in the state.
   */
  retry: string;
}>;

/** The longest list of Nodes in the state: 2,000 uids and names take 200 kB of a Secret's 1 MiB. */
export const mostListed = 2000;

/** The state of a revision that has just been published. */
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

export const isSameGrant = (grant: GrantKey, other: GrantKey): boolean =>
  keyOf(grant) === keyOf(other);

/** True if the pod holds a grant of the newest content. */
export const holdsNewest = ({ grant }: PodFacts, secret: SecretFacts): boolean =>
  grant?.revision === secret.revision && grant.digest === secret.digest;

/**
 * True if the Secret still contains the content that the grant names. If false, someone edited or
 * deleted the Secret, or wrote the pod's annotations, and the agent can never apply the grant.
 */
export const namesSlot = ({ revision, digest }: Grant, secret: SecretFacts): boolean =>
  revision === secret.revision ? digest === secret.digest : revision === secret.served;

/**
 * True if a pod without a grant reports that the newest content failed. The node's previous pod was
 * deleted while it held the grant, and this pod completed the change.
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
 * Whether the Node is gone: deleted, or replaced by a Node of the same name that is younger than
 * `than`, an API time. Undefined if the Node was not read.
 */
export function isNodeGone(nodes: NodesRead, name: string, than: number): boolean | undefined {
  const node = nodes.byName.get(name);
  if (node !== undefined) return node.created > than;
  return nodes.all || nodes.byName.has(name) ? true : undefined;
}

/** Why the rollout does not wait for a node. */
export type ExcuseReason = "away" | "not-started" | "not-ready" | "unfit" | "behind" | "admission";

export type Refused = Readonly<{ at: number; last: number; why: string }>;

/** What the controller remembers about a pod. All times are by the clock of `Now.steady`. */
export type PodRecord = Readonly<{
  node: string;
  created: number;
  /**
   * `ready`: ContainersReady and its transition time as one text. `readyAt`: when this process
   * first saw this text.
   */
  ready: string;
  readyAt: number;
  /** When this process first saw the node unreachable. */
  awayAt: number | undefined;
  /** `grantAt`: when this process first saw this grant without a proof. */
  grant: string;
  grantAt: number;
  /** When this process first saw the grant proved. Any interruption resets this time. */
  provedAt: number | undefined;
  /** The grant was once proved for `settledSeconds` without interruption. */
  isSettled: boolean;
  /** The pod's readiness and grant are the same as when this process first saw the pod. */
  isUnchanged: boolean;
  /** The grant occupies a slot. */
  holds: boolean;
  /** How often the number in the annotation `sync` was increased for this grant. */
  syncs: number;
  /**
   * A grant that was sent for this version of the pod, and that no watch event has shown yet.
   * `held`: the pod occupied a slot before.
   */
  sent: Readonly<{ resourceVersion: string; at: number; held: boolean }> | undefined;
  /** The outcome of the last grant that was revoked. */
  over:
    | Readonly<
        { revision: number } & (
          | { is: "failed"; because: "word" | "away" | "late" }
          | { is: "excused"; because: ExcuseReason }
        )
      >
    | undefined;
  /** How often a grant of this revision has failed, and which grant failed last. */
  failures: Readonly<{ revision: number; grant: string; count: number }> | undefined;
  /** When admission first and last refused grants for this pod, and the reason to show. */
  refused: Refused | undefined;
  /**
   * When the API server first and last refused to delete the pod in an upgrade, and the reason to
   * show.
   */
  refusedDeletion: Refused | undefined;
  /** How many writes to one version of the pod had no effect for an unknown reason. */
  errors: Readonly<{ resourceVersion: string; count: number }> | undefined;
}>;

/**
 * The slot of a pod that was deleted while it held a grant. `created` is the pod's creation, an API
 * time.
 */
export type Place = Readonly<{ created: number; at: number }>;

/**
 * The last publication that a node caused by reporting a higher revision. `at`: its time. `count`:
 * how many such publications there were. `revision`: the published revision.
 */
export type Raised = Readonly<{ at: number; count: number; revision: number }>;

export type Memory = Readonly<{
  /** By pod uid. */
  pods: ReadonlyMap<string, PodRecord>;
  /** By Node name. */
  places: ReadonlyMap<string, Place>;
  /** By Node uid: when this process first saw the Node without a pod. */
  podless: ReadonlyMap<string, Readonly<{ node: string; at: number }>>;
  /** By Node name: the last publication that each node's reports caused. */
  raised: ReadonlyMap<string, Raised>;
  /**
   * `since`: when the number of pods began to differ from the desired number. `at`: when all Nodes
   * were last listed. `difference`: the difference at that time.
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
 * One write. The caller executes the writes in order. Each write depends on the version that was
 * read: a pod's uid and resourceVersion, or another object's resourceVersion. If a write of the
 * Secret, the state or the template fails, the caller skips all later writes. If a patch or
 * deletion of one pod is refused, the caller continues with the other writes. The caller passes
 * each refused and each skipped write of a pod to `afterRefusal`.
 */
export type Action =
  | Readonly<{
      kind: "publish";
      revision: number;
      mode: PublishedMode;
      /**
       * The next content of the served slot: nothing, the same content, or the content that was
       * newest until now.
       */
      served: "nothing" | "same" | "newest";
      because: Cause;
    }>
  | Readonly<{ kind: "empty-served" }>
  | Readonly<{ kind: "save"; state: StateFacts }>
  /** Saves a state with `halted` set. */
  | Readonly<{ kind: "halt"; state: StateFacts }>
  | Readonly<{ kind: "grant" | "take-back"; pod: PodFacts; grant: Grant }>
  /** Raises the annotation `sync` of the pod. */
  | Readonly<{ kind: "sync"; pod: PodFacts }>
  | Readonly<{ kind: "delete"; pod: PodFacts }>
  | Readonly<{ kind: "write-template" }>
  /** Copies the newest content to the served slot. */
  | Readonly<{ kind: "promote" }>
  /** Deletes what the product created: the DaemonSet first, the Secrets last. */
  | Readonly<{ kind: "complete"; isConfirmed: boolean }>;

/**
 * Why the controller publishes. `missing`: nothing is published. `content`, `mode`: another one is
 * wanted. `behind`: a node has proved a higher revision, which happens after etcd was restored.
 */
export type Cause = "missing" | "content" | "mode" | "behind";

export type NewerContent = Readonly<{
  /** Why the controller must publish now. The controller sends no grant before this publication. */
  cause: Cause | undefined;
  /**
   * Why newer content must not be published yet. Undefined if there is no newer content, or if
   * newer content waits only until no slot is occupied.
   */
  waitsFor: "interval" | "paused" | undefined;
  /** Seconds until the interval ends. */
  waits: number;
}>;

/** Nodes that must be read to complete the decision. */
export type NodesToRead = Readonly<{ nodes: ReadonlySet<string>; all: boolean }>;

export type NodeState =
  /** The node has proved the newest content. */
  | "current"
  /** The node's grant is unproved, or is being revoked. */
  | "changing"
  /** The node will get a grant of the newest content. */
  | "waiting"
  /** The node's agent is starting. */
  | "starting"
  | "failed"
  | "excused";

/** A node that status lists by name. */
export type ListedNode = Readonly<{
  node: string;
  reason: ExcuseReason | "podless" | "word" | "away" | "late";
  /** Why the kubelet does not start the agent's container. */
  waitingReason: string | undefined;
  /** Why admission refuses the node's grant. Only set if `reason` is `admission`. */
  why?: string;
}>;

/**
 * The rollout as status reports it. The counts are of pods. A Node without a pod is in `excused`.
 */
export type View = Readonly<{
  phase: "idle" | "canary" | "rollout" | "served" | "halted" | "withdrawal";
  counts: Readonly<Record<NodeState, number>>;
  excused: readonly ListedNode[];
  failed: readonly ListedNode[];
  /** How many Nodes failed since the last retry, including Nodes that are gone. */
  failures: number;
  /** Nodes whose pod cannot be deleted for an upgrade, and the reason. */
  undeletable: readonly Readonly<{ node: string; why: string }>[];
  /** The number of slots in use, out of `maxUnavailable`. */
  places: number;
  /**
   * Why newer content waits: grants are unproved, minInterval has not passed, or the policy is
   * paused. During a rollout, a pause also delays the remaining grants. `template`: the content
   * waits for the agents' new mode, which no pause delays.
   */
  pending: "no" | "places" | "interval" | "paused" | "template";
}>;

export type Decision = Readonly<{
  actions: readonly Action[];
  memory: Memory;
  /**
   * If not empty: read these Nodes and decide again, with the same `memory` as before. Without
   * these Nodes the decision is safe, but might be incomplete.
   */
  reads: NodesToRead;
  /** Seconds until the passing of time alone can change the decision. Infinite if it cannot. */
  again: number;
  view: View;
}>;
