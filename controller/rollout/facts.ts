/**
 * The data of a rollout's decision: its input (a snapshot of the objects, and the time) and its
 * result. Pure. The decision has no memory: everything that it needs is in the API, so a failover
 * forgets nothing.
 *
 * All times are seconds since 1970 by the API server's clock.
 */
import type { Order, Report } from "#contract/order.ts";
import type { PublishedMode } from "#contract/names.ts";

/** The contents of global-pull-secret. */
export type SecretFacts = Readonly<{
  revision: number;
  /** Salted digest of the newest content. */
  digest: string;
  mode: PublishedMode;
  intent: "apply" | "release";
  /** The revision that new nodes get: `revision` after the promotion, 0 if nothing is served. */
  served: number;
  /** When the newest content was published. */
  publishedAt: number;
}>;

/** The agent's pod on a node. */
export type PodFacts = Readonly<{
  uid: string;
  created: number;
  isDeleting: boolean;
  /** The pod was made from the present template of the DaemonSet. */
  isCurrent: boolean;
  /** The mode of the pod's template. Undefined if someone removed the annotation. */
  mode: PublishedMode | undefined;
  /** The agent's container runs. */
  isRunning: boolean;
  /** The pod's condition Ready is True since then. Undefined: it is not True. */
  readySince: number | undefined;
  /** The kubelet does not answer: the node controller set Ready to False, the kubelet did not. */
  isUnreachable: boolean;
  /** Why the container waits, as the kubelet reports it: ImagePullBackOff, CreateContainerError. */
  waitingReason: string | undefined;
}>;

/** The node's NodePullSecret. */
export type ObjectFacts = Readonly<{
  uid: string;
  resourceVersion: string;
  /** Someone has deleted it, and its finalizers keep it. */
  isDeleting: boolean;
  /** Undefined: nothing was asked yet. */
  order: Order | undefined;
  /** Undefined: the agent has reported nothing yet. */
  report: Report | undefined;
}>;

/** A Node that the DaemonSet serves. */
export type NodeFacts = Readonly<{
  name: string;
  uid: string;
  created: number;
  isControlPlane: boolean;
  /** The pod that is not being deleted, or else the younger one. */
  pod: PodFacts | undefined;
  object: ObjectFacts | undefined;
  /** The API server has refused the last write of the object, and the next try is later. */
  isRefused: boolean;
}>;

/** The rollout's part of global-pull-secret-state. Uids are of Nodes. */
export type StateFacts = Readonly<{
  /** All fields except `retry`, `bucketUntil` and `served` are about this revision. */
  revision: number;
  /** Orders that were given before this time do not count: the publication, or the last retry. */
  since: number;
  /** A node has proved the revision. */
  proved: boolean;
  /**
   * Nodes that were asked before any node had proved the revision, recorded before they were asked.
   */
  asked: readonly string[];
  /** Nodes whose agents reported that the revision failed. */
  failed: readonly string[];
  /** Nodes that did not answer within their usual time, or disappeared before they answered. */
  lost: readonly string[];
  /** Some content was served to joining nodes since the product was installed. */
  served: boolean;
  /** The retry request that was followed last. */
  retry: string;
  /**
   * The publications take places in a bucket, one after the other, each for ten minutes. Until
   * this time a place is taken.
   */
  bucketUntil: number;
}>;

export type Wanted = Readonly<{
  intent: "apply" | "release";
  /** Computed with the salt of the published revision, so the same content has the same digest. */
  digest: string;
  /** True if, according to the state Secret, the last published content is the wanted content. */
  isKnown: boolean;
  /** The mode that the policy wants in the template. */
  mode: PublishedMode;
  /** The newest or the served content has a registry that the wanted content lacks. */
  removes: boolean;
}>;

export type RolloutPolicy = Readonly<{
  /** A number of nodes, at least 1. */
  maxUnavailable: number | "all";
  maxFailures: number;
  /** Seconds. */
  forgetAfter: number;
  /** Seconds. */
  minInterval: number;
  /** How many seconds agents watch a restarted kubelet. */
  probation: number;
}>;

/** The NodePullSecret of a former Node. `uid`: of this Node. */
type Orphan = Readonly<{ name: string; uid: string; object: ObjectFacts }>;

export type Snapshot = Readonly<{
  now: number;
  /** Undefined if it is absent, or if someone edited it. */
  secret: SecretFacts | undefined;
  state: StateFacts;
  /**
   * The DaemonSet. `isCurrent` is false while its template differs from the wanted template.
   * `maxUnavailable`: of its update strategy.
   */
  template:
    | Readonly<{ isCurrent: boolean; mode: PublishedMode | undefined; maxUnavailable: number }>
    | undefined;
  /** All Nodes that the DaemonSet serves. */
  nodes: readonly NodeFacts[];
  /** NodePullSecrets whose Node is gone, until they are deleted. */
  orphans: readonly Orphan[];
  target: Wanted;
  policy: RolloutPolicy;
  isPaused: boolean;
  /**
   * The admission policy that lets an agent report only about its own node exists. Without it, a
   * report proves nothing.
   */
  isGuarded: boolean;
  /** The last retry request. It equals `state.retry` if it is not new. */
  retry: string;
}>;

/**
 * One write. The caller executes the writes in order. Each depends on the version that was read. If
 * a write of the Secret or the state fails, the caller skips all later writes. A template that the
 * API server refuses stops no other write.
 */
export type Action =
  | Readonly<{
      kind: "publish";
      revision: number;
      mode: PublishedMode;
      /**
       * The next content of the served slot: nothing, the same content, or the content that was
       * newest until now. The caller leaves out registries that the new content lacks.
       */
      served: "nothing" | "same" | "newest";
    }>
  | Readonly<{ kind: "save"; state: StateFacts }>
  /** Copies the newest content to the served slot. */
  | Readonly<{ kind: "promote" }>
  /** Writes the DaemonSet with this budget of its rolling update. */
  | Readonly<{ kind: "write-template"; maxUnavailable: number }>
  /**
   * Deletes the NodePullSecret of a former Node. The agent of a new Node with the same name would
   * otherwise follow the former Node's order until the garbage collector deletes the object.
   */
  | Readonly<{ kind: "delete"; node: Orphan }>
  /** Creates the node's NodePullSecret, without an order. */
  | Readonly<{ kind: "create"; node: NodeFacts }>
  /** Writes the order into the node's NodePullSecret. */
  | Readonly<{ kind: "ask"; node: NodeFacts; order: Order }>
  /** The withdrawal is complete: deletes what the product created, except the objects of these. */
  | Readonly<{ kind: "complete"; leftBehind: readonly string[] }>;

/** Why a node has not got the newest content. The first that applies. */
export type WaitReason =
  /** The Node has no agent pod. */
  | "podless"
  /** The agent's container does not run, or the node's object is missing or cannot be written. */
  | "starting"
  /** The kubelet does not answer. */
  | "unreachable"
  /** The node was asked, and its usual time has not passed. */
  | "atWork"
  /** The node was asked, and did not answer within its usual time. */
  | "silent"
  /** The agent reported that the content failed. */
  | "failed"
  /** The agent reported that the node cannot take the content. It is asked again later. */
  | "refused"
  /** The admission policy that makes reports a proof is missing. */
  | "unguarded"
  | "paused"
  | "halted"
  /** The pod's agent is of another delivery mode, and is replaced. */
  | "otherMode"
  /** Another control-plane node is at work. */
  | "controlPlane"
  /** All places are taken. */
  | "window";

/** A node without the newest content, or without a confirmed removal. */
export type WaitingNode = Readonly<{
  node: string;
  uid: string;
  reason: WaitReason;
  /** Why the kubelet does not start the agent's container. */
  waitingReason: string | undefined;
  report: Report | undefined;
}>;

/** The rollout as status reports it. The counts are of Nodes. */
export type View = Readonly<{
  /** `first`: nothing is proved yet. `idle`: nothing is published. */
  phase: "idle" | "first" | "rollout" | "done" | "halted" | "withdrawal";
  /** Nodes that the DaemonSet serves. */
  desired: number;
  /** Nodes that have the newest content, or have confirmed the release. */
  current: number;
  /** All other nodes. */
  waiting: readonly WaitingNode[];
  /** At most a twentieth (at least one) of the reachable, not young nodes lack it; most have it. */
  isReady: boolean;
  /** Set if the rollout is halted. */
  halt: Readonly<{ by: "failed" | "lost"; count: number }> | undefined;
  /** Why newer content is not published yet. `flapping`: the source changes too often. */
  pending: "no" | "interval" | "paused" | "flapping" | "template";
}>;

export type Decision = Readonly<{
  actions: readonly Action[];
  /** Seconds until the passing of time alone can change the decision. Infinite if it cannot. */
  again: number;
  view: View;
}>;

/** The longest list of Nodes in the state: 2,000 uids take 80 kB of a Secret's 1 MiB. */
export const mostListed = 2000;

/** The state of a revision that has just been published. */
export const stateOf = (
  revision: number,
  since: number,
  lasting: Pick<StateFacts, "retry" | "bucketUntil" | "served">,
): StateFacts => ({ revision, since, proved: false, asked: [], failed: [], lost: [], ...lasting });
