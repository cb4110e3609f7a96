/**
 * GlobalPullSecret as TypeScript. Written from
 * manifests/chart/crds/globalpullsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { ConditionType } from "./reasons.ts";

/**
 * The policy for the pull secrets of kube-system, and the state of their rollout to every node.
 * There is one object, named cluster. If it is missing for 30 s, the controller creates it with the
 * policy in force. The controller changes no spec.
 */
export type GlobalPullSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** GlobalPullSecret. */
  kind: "GlobalPullSecret";
  metadata: V1ObjectMeta;
  /**
   * The policy. A change takes effect within seconds. Every field has a default, so reading the
   * object shows the whole policy. Deleting the object does not change the policy.
   */
  spec?: GlobalPullSecretSpec;
  /**
   * The state that the controller observes. Only the controller writes it. It contains no
   * credential, and nothing computed from a credential.
   */
  status?: GlobalPullSecretStatus;
}>;

/**
 * The policy. A change takes effect within seconds. Every field has a default, so reading the
 * object shows the whole policy. Deleting the object does not change the policy.
 */
export type GlobalPullSecretSpec = Readonly<{
  /**
   * Managed: every change is rolled out. Paused: no change is rolled out, not even a withdrawal;
   * the content in force is still repaired. Withdrawn: the agents restore the nodes, our objects
   * are deleted, and the user's Secrets stay. Default: Managed.
   */
  managementState?: "Managed" | "Paused" | "Withdrawn";
  /**
   * Whether the original is the lowest source (PreferAdditional) or the highest. Default:
   * PreferAdditional.
   */
  conflictPolicy?: "PreferAdditional" | "PreferOriginal";
  /**
   * Registries whose images only the original may serve. They add to the controller's --protect.
   */
  protectedRegistries?: readonly string[];
  /**
   * More Secrets of kube-system. additional-pull-secret is higher than all of them, and the
   * original is lower. A source that is refused or cannot be read keeps its last accepted entries,
   * and does not block other sources.
   */
  sources?: readonly SourceSpec[];
  /**
   * How a credential on a node's disk reaches its kubelet. The installer's --delivery-modes limits
   * the modes.
   */
  delivery?: DeliverySpec;
  /** How fast a change reaches the nodes, and when it stops. */
  rollout?: RolloutSpec;
  /** How entries leave the nodes after a source is deleted. */
  withdrawal?: WithdrawalSpec;
  /**
   * The controller asks each registry, before new content is published and then at an interval, for
   * a login with every entry, and for the pull of each image's manifest with the credentials that
   * the kubelet would try.
   */
  verification?: VerificationSpec;
}>;

/** An extra source of credentials. */
export type SourceSpec = Readonly<{
  /**
   * The source's name in status, Events and metrics. A DNS label, other than additional,
   * additional-pull-secret and original.
   */
  name: string;
  /**
   * The Secret, of type kubernetes.io/dockerconfigjson. The controller needs the right to read it;
   * the status shows how to grant it.
   */
  secretRef: SecretReference;
  /**
   * The highest source's credential is used for a registry. Equal priorities are ordered by name,
   * with a warning. Default: 0.
   */
  priority?: number;
}>;

/**
 * The Secret, of type kubernetes.io/dockerconfigjson. The controller needs the right to read it;
 * the status shows how to grant it.
 */
export type SecretReference = Readonly<{
  /** The Secret's name. */
  name: string;
}>;

/**
 * How a credential on a node's disk reaches its kubelet. The installer's --delivery-modes limits
 * the modes.
 */
export type DeliverySpec = Readonly<{
  /**
   * Restart: the agent restarts the kubelet and checks its health, within seconds per node. The
   * other modes restart nothing. Reread: the kubelet reads its file again within five minutes.
   * CredentialProvider: the kubelet calls our provider at each pull, so a rotation takes effect at
   * once. The nodes must be created with the provider; a node without it is unfit. Runtime:
   * containerd reads the credentials of whole registries from its hosts.toml files at each pull, so
   * the next pull has the new one; other entries are in the kubelet's file, as with Reread. The
   * installer must allow the last two modes by name. Default: Restart.
   */
  mode?: "Restart" | "Reread" | "CredentialProvider" | "Runtime";
  /** Which pods the provider of mode CredentialProvider serves. Only with that mode. */
  credentialProvider?: CredentialProviderSpec;
}>;

/** Which pods the provider of mode CredentialProvider serves. Only with that mode. */
export type CredentialProviderSpec = Readonly<{
  /**
   * All: every pod's images. Annotated: for the sources' own registries, only images of pods whose
   * ServiceAccount has the annotation globalpullsecret.io/use; the original's registries are served
   * for every pod. The installer must grant nodes a right for this scope. Default: All.
   */
  scope?: "All" | "Annotated";
}>;

/** How fast a change reaches the nodes, and when it stops. */
export type RolloutSpec = Readonly<{
  /**
   * Nodes that may change at a time: a number, or a percentage of the nodes, rounded up. One node
   * goes first, then at most three, then nine and so on, up to this limit. It also limits how many
   * agents' pods an upgrade replaces at a time. 100%: all nodes change at once. The installer's
   * --max-unavailable-limit is the upper limit. Default: 10%.
   */
  maxUnavailable?: number | string;
  /**
   * Nodes whose agents may report a failure before a revision is halted: a number, or a percentage
   * of the nodes, rounded down. Newer content or a retry ends the halt. Failures count until then.
   * Nodes that do not answer do not count here. Default: 0.
   */
  maxFailures?: number | string;
  /**
   * How long a restarted kubelet must stay healthy before its agent reports Proved. From 3s to 10m.
   * Default: 5s.
   */
  probation?: string;
  /**
   * Least time between the publications of two revisions, so that a program that keeps writing a
   * Secret does not restart kubelets all day. Withdrawals, repairs, retries and the rollout under
   * way do not wait. Default: 0s.
   */
  minInterval?: string;
}>;

/** How entries leave the nodes after a source is deleted. */
export type WithdrawalSpec = Readonly<{
  /**
   * Whether the entries of a deleted or empty Secret leave the nodes. Keep: they stay until you set
   * Withdraw. Default: Withdraw.
   */
  onDelete?: "Withdraw" | "Keep";
  /**
   * How long after a Secret's deletion its withdrawal begins, at most 1h. A Secret that is created
   * again in that time is one change. A change that drops at least two registries of a Secret, and
   * more than half of them, waits as long. Default: 30s.
   */
  grace?: string;
  /**
   * How long a withdrawal may stand still before it is reported as overdue, at least 1m. It
   * continues after that. Default: 10m.
   */
  deadline?: string;
  /**
   * How long a withdrawal waits for nodes that cannot confirm it, such as nodes whose kubelet does
   * not answer, at least 1m. Until then the agents stay on every node. A node that returns later
   * keeps what it had, and stays in status.failures until you delete its NodePullSecret. Default:
   * 24h.
   */
  forgetAfter?: string;
}>;

/**
 * The controller asks each registry, before new content is published and then at an interval, for a
 * login with every entry, and for the pull of each image's manifest with the credentials that the
 * kubelet would try.
 */
export type VerificationSpec = Readonly<{
  /**
   * Off: no registry is asked. Warn: a denied credential is published and reported. Refuse: a
   * source with a new credential that is denied is refused, and its last accepted document stays in
   * force. New content waits at most 10 s for the answers. No answer never refuses a source, and a
   * credential that is denied later is only reported. Default: Warn.
   */
  mode?: "Off" | "Warn" | "Refuse";
  /**
   * Images that nodes must be able to pull. An account can be allowed to log in, but not to pull.
   */
  images?: readonly string[];
  /**
   * How often each registry is asked again, from 10m to 168h, with a jitter of a tenth. After
   * another answer than Accepted it is asked after 10m. Default: 1h.
   */
  interval?: string;
}>;

/**
 * The state that the controller observes. Only the controller writes it. It contains no credential,
 * and nothing computed from a credential.
 */
export type GlobalPullSecretStatus = Readonly<{
  /**
   * The generation of spec that this status describes; -1 before the controller has read the
   * object.
   */
  observedGeneration?: number;
  /** Revisions of the merged pull secret: integers that only grow. */
  revision?: RevisionStatus;
  /** The verdict on each source, as last read. */
  sources?: readonly SourceStatus[];
  /** Which source's credential is used for each registry. */
  registries?: readonly RegistryStatus[];
  /**
   * How many registries are not listed, because there are more than 200 or their names are too
   * long.
   */
  registriesOmitted?: number;
  /**
   * Nodes, counted by their state with the published revision. No node waits for unfit, unreachable
   * or silent nodes.
   */
  nodes?: NodesStatus;
  /**
   * At most ten nodes: first the nodes that failed, then the nodes that cannot be served, or that
   * may keep the entries after a withdrawal. status.nodes counts all of them, and kubectl
   * pull-secret nodes lists them.
   */
  failures?: readonly NodeFailure[];
  /**
   * Ready, Reconciling, Stalled, SourcesAccepted, CredentialsVerified and NodesLeftOut. Reconciling
   * and Stalled are never both True.
   */
  conditions?: readonly StatusCondition[];
}>;

/** Revisions of the merged pull secret: integers that only grow. */
export type RevisionStatus = Readonly<{
  /** The newest revision that was rolled out. */
  inForce?: number;
  /** The revision that is being rolled out. */
  pending?: number;
  /** The revision whose rollout is halted. Nodes keep what they have. */
  refused?: RefusedRevision;
}>;

/** The revision whose rollout is halted. Nodes keep what they have. */
export type RefusedRevision = Readonly<{
  /** Its number. */
  revision: number;
  /** When it halted. */
  since: string;
  /** NodesFailed or NodesSilent. */
  reason: string;
}>;

/** A source and whether it is accepted. */
export type SourceStatus = Readonly<{
  /** The source's name: one of spec.sources, or additional-pull-secret, or original. */
  name: string;
  /** The version of the Secret that was judged. */
  resourceVersion?: string;
  /**
   * The version whose content is in force on the nodes, to compare as a number with the Secret's.
   */
  servedResourceVersion?: string;
  /** Whether the nodes get this version. Unknown: it could not be read. */
  accepted: "True" | "False" | "Unknown";
  /** The reason, in one word. */
  reason: string;
  /** Why, in a sentence with what to do. Codes are those of docs/reference/errors.md. */
  message: string;
}>;

/** A registry and the source that serves it. */
export type RegistryStatus = Readonly<{
  /** The registry, as the merged pull secret names it. */
  registry: string;
  /** The source whose credential is used, as in status.sources. */
  source: string;
  /** Other sources with a credential for this registry, which is not used. */
  shadows?: readonly string[];
  /** When the credential expires. Known only for a JWT or a token of Amazon ECR. */
  expires?: string;
  /**
   * What the registry last answered about the credential. Unknown: it gave no answer, or cannot be
   * asked.
   */
  verified?: "Accepted" | "Denied" | "Unknown";
  /** When the registry gave this answer. */
  verifiedAt?: string;
}>;

/**
 * Nodes, counted by their state with the published revision. No node waits for unfit, unreachable
 * or silent nodes.
 */
export type NodesStatus = Readonly<{
  /** updated/desired, for people. */
  summary: string;
  /** Nodes that should have the pull secret. */
  desired: number;
  /** Nodes that have proved the published revision, or its removal. */
  updated: number;
  /** Nodes whose agent runs, whatever revision they have. */
  available: number;
  /** Nodes that do not support the revision, and are left untouched. */
  unfit: number;
  /** Nodes without the revision whose kubelet does not answer. */
  unreachable: number;
  /** Nodes whose agents reported that the revision failed. */
  failed: number;
  /** Nodes that were asked and did not answer within their usual time. */
  silent?: number;
  /** Why the other nodes do not have the revision, each counted once. */
  waiting?: readonly WaitingNodes[];
}>;

/** A reason, and how many nodes wait for it. */
export type WaitingNodes = Readonly<{
  /** The reason, in one word. docs/reference/reasons.md explains each. */
  reason: string;
  /** The number of nodes. */
  nodes: number;
}>;

/** A node and why it does not have the revision. */
export type NodeFailure = Readonly<{
  /** The node's name. */
  node: string;
  /** The code of the reason, explained in docs/reference/errors.md. */
  code?: string;
  /** What failed, and what to do. */
  message: string;
  /** When it was first seen. */
  since: string;
}>;

/** A condition, as Kubernetes defines it. */
export type StatusCondition = Readonly<{
  /** The type of the condition. */
  type: ConditionType;
  /** True, False or Unknown. */
  status: "True" | "False" | "Unknown";
  /** The generation of spec that the condition describes. */
  observedGeneration?: number;
  /** When the condition last changed its status. */
  lastTransitionTime: string;
  /** The reason, in one word. */
  reason: string;
  /** The reason, for people. */
  message: string;
}>;
