/**
 * What the decisions about grants see: one snapshot of the objects, and the time. Pure.
 *
 * Two kinds of time never meet. Times of the API (creation, publication, exits) are seconds since
 * 1970 as the API server counts them, and are compared with each other and with `Now.api` alone.
 * Everything shorter than an hour is measured with `Now.steady`, from the moment this process first
 * saw it, because kubelets' clocks differ and clocks are set. After a restart of the controller
 * these waits begin again, so they end later, never earlier.
 */

export type Mode = "Restart" | "Reread" | "CredentialProvider";

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
  mode: Mode;
  intent: "apply" | "release";
  /** 0: nothing. `revision`: the newest content. Otherwise the revision in the served slot. */
  served: number;
  /** API time at which the newest content was published. */
  publishedAt: number;
}>;

/**
 * A grant, as the annotations of a pod hold it. Revision 0 takes a grant back; then `digest` holds
 * the decimal number of the revision that the node is excused from, and is empty after a halt.
 */
export type Grant = Readonly<{
  revision: number;
  digest: string;
  /** Transition time of the pod's ContainersReady condition when the grant was written. */
  since: string;
  /** The container proves by its termination message instead of its readiness. */
  word: boolean;
}>;

/** The termination message of the agent's container, if it is about a grant. */
type Word = Readonly<{
  kind: "proved" | "failed" | "unfit" | "behind";
  /** The grant that it answers. */
  revision: number;
  digest: string;
  since: string;
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
  mode: Mode | undefined;
  grant: Grant | undefined;
  /** The condition ContainersReady; `since` is its transition time, as written there. */
  ready: Readonly<{ is: boolean; since: string }>;
  /** Transition time of a condition Ready=False of a pod whose containers are Ready. */
  unreachable: string | undefined;
  word: Word | undefined;
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
  /** The canary's Node, recorded before its grant. */
  canary: Readonly<{ node: string; uid: string }> | undefined;
  halted: boolean;
  /** Uids of Nodes that failed since the last retry. */
  failed: readonly string[];
  /** Uids of Nodes that had failed when a retry was requested: it begins with them. */
  lost: readonly string[];
  /** The last value of the retry annotation that was followed. */
  retry: string;
  /** Names of Nodes whose Ready pod was deleted for an upgrade, until its successor is Ready. */
  replaced: readonly string[];
}>;

type Wanted = Readonly<{
  intent: "apply" | "release";
  /** With the salt of the published revision, so that it equals its digest for the same content. */
  digest: string;
  /** The mode of the template as the policy wants it. */
  mode: Mode;
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
  /** In mode CredentialProvider agents register the provider, which restarts the kubelet. */
  registersProvider: boolean;
}>;

export type Snapshot = Readonly<{
  secret: SecretFacts | undefined;
  state: StateFacts;
  /** The DaemonSet; `isCurrent` is false while its template differs from the wanted one. */
  template: Readonly<{ isCurrent: boolean; mode: Mode | undefined }> | undefined;
  pods: readonly PodFacts[];
  nodes: NodesRead;
  /** `status.desiredNumberScheduled` of the DaemonSet. */
  desired: number;
  wanted: Wanted;
  policy: GrantPolicy;
  isPaused: boolean;
  /** The value of the retry annotation; empty if there is none. */
  retry: string;
}>;

/** The state of a revision of which nothing is known yet. */
export function stateOf(
  revision: number,
  { retry, replaced }: Pick<StateFacts, "retry" | "replaced">,
): StateFacts {
  return {
    revision,
    word: false,
    base: -1,
    canary: undefined,
    halted: false,
    failed: [],
    lost: [],
    retry,
    replaced,
  };
}

/** True if both are the same grant. */
export const isSameGrant = (
  one: Pick<Grant, "revision" | "digest" | "since">,
  other: Pick<Grant, "revision" | "digest" | "since">,
): boolean =>
  one.revision === other.revision && one.digest === other.digest && one.since === other.since;

/** What a pod is granted, as one text. */
export const grantKey = ({ revision, digest, since }: Grant): string =>
  `${revision}/${digest}/${since}`;

/** True if the pod holds a grant of the newest content. */
export const holdsNewest = ({ grant }: PodFacts, secret: SecretFacts): boolean =>
  grant?.revision === secret.revision && grant.digest === secret.digest;

/**
 * True if the node reports that the newest content failed, by a word of a pod without a grant: its
 * predecessor was deleted under the grant, and the successor ended the change.
 */
export const inheritsFailure = ({ grant, word }: PodFacts, secret: SecretFacts): boolean =>
  grant === undefined &&
  word?.kind === "failed" &&
  word.revision === secret.revision &&
  word.digest === secret.digest;

/**
 * Whether the Node is gone: deleted, or replaced by one of the same name that is younger than
 * `than`, an API time. Undefined if the Node was not read.
 */
export function isNodeGone(nodes: NodesRead, name: string, than: number): boolean | undefined {
  const node = nodes.byName.get(name);
  if (node !== undefined) return node.created > than;
  return nodes.all || nodes.byName.has(name) ? true : undefined;
}
