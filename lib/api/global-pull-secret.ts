/**
 * GlobalPullSecret as TypeScript. Written from
 * manifests/crds/globalpullsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { ConditionType } from "./reasons.ts";

/**
 * How the pull secrets of kube-system reach every node, and how far they are. There is one, named
 * cluster: the controller creates it if it is missing, and never writes its spec.
 */
export type GlobalPullSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** GlobalPullSecret. */
  kind: "GlobalPullSecret";
  metadata: V1ObjectMeta;
  /**
   * Policy, in force seconds after it is written. Every field has a default, so that what is read
   * back is the whole policy; deleting the object means the defaults, never a withdrawal.
   */
  spec?: GlobalPullSecretSpec;
  /**
   * What the controller sees, written by it alone. Holds no credential, and nothing that is
   * computed from one.
   */
  status?: GlobalPullSecretStatus;
}>;

/**
 * Policy, in force seconds after it is written. Every field has a default, so that what is read
 * back is the whole policy; deleting the object means the defaults, never a withdrawal.
 */
export type GlobalPullSecretSpec = Readonly<{
  /**
   * Whether the nodes follow the Secrets. Managed: every change is rolled out. Paused: no change is
   * rolled out, including a withdrawal, and the content in force is kept in repair. Withdrawn: the
   * agents restore the nodes, our objects are deleted, and the user's Secrets stay. Default:
   * Managed.
   */
  managementState?: "Managed" | "Paused" | "Withdrawn";
  /**
   * Whose credential is used where the original and another source have one for the same registry.
   * PreferOriginal makes the original the highest source instead of the lowest. Default:
   * PreferAdditional.
   */
  conflictPolicy?: "PreferAdditional" | "PreferOriginal";
  /**
   * Registries whose images no source but the original may serve. They add to those of the
   * controller's --protect, and never take one away.
   */
  protectedRegistries?: readonly string[];
  /**
   * More Secrets of kube-system, merged with additional-pull-secret, which is higher than all of
   * them, and with the original, which is lower. A source that is refused or cannot be read keeps
   * its last accepted entries and holds up no other.
   */
  sources?: readonly SourceSpec[];
  /**
   * How a credential on a node's disk reaches its kubelet. The installer's --delivery-modes limits
   * the modes.
   */
  delivery?: DeliverySpec;
  /** How fast a change goes over the nodes, and what stops it. */
  rollout?: RolloutSpec;
  /** How entries leave the nodes after a source is deleted. */
  withdrawal?: WithdrawalSpec;
}>;

/** A further source of credentials. */
export type SourceSpec = Readonly<{
  /**
   * What the source is called in status, Events and metrics. A DNS label, other than additional,
   * additional-pull-secret and original.
   */
  name: string;
  /**
   * The Secret, in kube-system, of type kubernetes.io/dockerconfigjson. The controller needs the
   * right to read it, by name. If the right is missing, the status shows how to grant it.
   */
  secretRef: SecretReference;
  /**
   * The highest source's credential is used if several have one for the same registry. Equal
   * priorities are ordered by name, with a warning. Default: 0.
   */
  priority?: number;
}>;

/**
 * The Secret, in kube-system, of type kubernetes.io/dockerconfigjson. The controller needs the
 * right to read it, by name. If the right is missing, the status shows how to grant it.
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
   * Restart: the kubelet is restarted and proved, seconds a node. Reread: nothing is restarted, and
   * the kubelet reads its file again by itself, within five minutes. CredentialProvider: the
   * kubelet asks a provider of ours at each pull, so that a rotation restarts nothing and counts at
   * once; nodes must be made with the provider, a node without it is unfit and not touched, and the
   * installer must allow the mode by name. Default: Restart.
   */
  mode?: "Restart" | "Reread" | "CredentialProvider";
  /** Which pods the provider of mode CredentialProvider serves. Only with that mode. */
  credentialProvider?: CredentialProviderSpec;
}>;

/** Which pods the provider of mode CredentialProvider serves. Only with that mode. */
export type CredentialProviderSpec = Readonly<{
  /**
   * All: every pod's images. Annotated: only those of pods whose ServiceAccount carries the
   * annotation globalpullsecret.io/use, as far as they are the sources' own; the original's stay
   * every pod's. Nodes need a right for it that the installer grants. Default: All.
   */
  scope?: "All" | "Annotated";
}>;

/** How fast a change goes over the nodes, and what stops it. */
export type RolloutSpec = Readonly<{
  /**
   * Nodes that may change at a time: a number, or a percentage of the nodes, rounded up. It also
   * limits how many agents' pods an upgrade replaces at a time. 100%: no node goes first. The
   * installer's --max-unavailable-limit bounds it. Default: 10%.
   */
  maxUnavailable?: number | string;
  /**
   * Nodes that may fail before a revision is halted: a number, or a percentage of the nodes,
   * rounded down. Newer content or a retry that you request ends a halt. Failures count until then.
   * Default: 0.
   */
  maxFailures?: number | string;
  /**
   * How long a restarted kubelet must stay healthy before its agent is Ready. From 3s to 10m.
   * Default: 5s.
   */
  probation?: string;
  /**
   * Least time from the publication of one revision to the next one's. It keeps a writer of a
   * Secret from restarting kubelets all day. The withdrawal of a source, repairs and retries do not
   * wait. The rollout under way continues. Default: 0s.
   */
  minInterval?: string;
}>;

/** How entries leave the nodes after a source is deleted. */
export type WithdrawalSpec = Readonly<{
  /**
   * How long after a Secret's deletion its withdrawal begins, at most 1h. A Secret that is deleted
   * and created again in that time is one change. Default: 30s.
   */
  grace?: string;
  /**
   * How long a withdrawal may stand still before it is reported as overdue, at least 1m. It
   * continues after that. Default: 10m.
   */
  deadline?: string;
  /**
   * How long a withdrawal waits for nodes that cannot confirm it, such as nodes that are away, at
   * least 1m. Until then the agents stay on every node. A node that returns later keeps what it
   * had. Default: 24h.
   */
  forgetAfter?: string;
}>;

/**
 * What the controller sees, written by it alone. Holds no credential, and nothing that is computed
 * from one.
 */
export type GlobalPullSecretStatus = Readonly<{
  /**
   * The generation of spec that this status speaks of. While it is behind metadata.generation, the
   * policy has not been read yet; -1 before the first look.
   */
  observedGeneration?: number;
  /**
   * Revisions of the merged pull secret: integers that only grow, one for each different content.
   */
  revision?: RevisionStatus;
  /** The verdict on each source, as last read. */
  sources?: readonly SourceStatus[];
  /** Which source's credential is used for each registry. */
  registries?: readonly RegistryStatus[];
  /**
   * How many registries are not listed, because there are more than 200 or their names are too
   * long. Absent when all are.
   */
  registriesOmitted?: number;
  /** Nodes, counted by what became of them with the published revision. */
  nodes?: NodesStatus;
  /** Nodes that failed, then nodes that cannot be served, ten of them at most; nodes counts all. */
  failures?: readonly NodeFailure[];
  /**
   * Ready, Reconciling, Stalled, SourcesAccepted, RolledOut and NodesLeftOut. Reconciling and
   * Stalled are never both True.
   */
  conditions?: readonly StatusCondition[];
}>;

/** Revisions of the merged pull secret: integers that only grow, one for each different content. */
export type RevisionStatus = Readonly<{
  /**
   * The last revision that every node could have, and that joining nodes got. Absent before the
   * first.
   */
  inForce?: number;
  /** The revision that is being rolled out. Absent when none is. */
  pending?: number;
  /**
   * The revision that halted. Nodes keep what they have until you request a retry or change the
   * Secret.
   */
  refused?: RefusedRevision;
}>;

/**
 * The revision that halted. Nodes keep what they have until you request a retry or change the
 * Secret.
 */
export type RefusedRevision = Readonly<{
  /** Its number. */
  revision: number;
  /** When it halted. */
  since: string;
  /** Why, in one word such as RestartFailed. */
  reason: string;
}>;

/** A source and whether it is accepted. */
export type SourceStatus = Readonly<{
  /** Of spec.sources, or additional-pull-secret, or original. */
  name: string;
  /** The version of the Secret that this verdict is of. Absent while there is no Secret. */
  resourceVersion?: string;
  /**
   * The version whose content every node that can be served has. Compare it as a number with the
   * Secret's own metadata.resourceVersion.
   */
  servedResourceVersion?: string;
  /** Whether this version is what the nodes get. Unknown: it could not be read. */
  accepted: "True" | "False" | "Unknown";
  /** Why, in one word. */
  reason: string;
  /** Why, in a sentence with what to do. Codes are those of docs/reference/errors.md. */
  message: string;
}>;

/** A registry and who serves it. */
export type RegistryStatus = Readonly<{
  /** The registry, as the merged pull secret names it. */
  registry: string;
  /** The source whose credential is used, as in status.sources. */
  source: string;
  /** The sources that have a credential for this registry, too, which is not used. */
  shadows?: readonly string[];
  /** When the credential expires, if it contains that: a JWT, or a token of Amazon ECR. */
  expires?: string;
}>;

/** Nodes, counted by what became of them with the published revision. */
export type NodesStatus = Readonly<{
  /** updated/desired, for people. */
  summary: string;
  /** Nodes that should have the pull secret. */
  desired: number;
  /** Nodes that have proved the published revision. */
  updated: number;
  /** Nodes whose agent is available, whatever revision they have. */
  available: number;
  /** Nodes that their agent refuses to touch. No rollout waits for them. */
  unfit: number;
  /**
   * Nodes that cannot be served for another reason: away, without a pod, or their agent does not
   * start. No rollout waits for them.
   */
  unreachable: number;
  /**
   * Nodes on which the revision failed, that did not prove it in time, or that went away while they
   * changed.
   */
  failed: number;
}>;

/** A node and why it does not have the revision. */
export type NodeFailure = Readonly<{
  /** The node's name. */
  node: string;
  /**
   * The code that the agent gave, explained in docs/reference/errors.md. Absent when its container
   * did not come so far as to give one.
   */
  code?: string;
  /** What failed, and what to do. */
  message: string;
  /** When it was first seen. */
  since: string;
}>;

/** A condition, as Kubernetes defines it. */
export type StatusCondition = Readonly<{
  /** What is said of. */
  type: ConditionType;
  /** Whether it is so. */
  status: "True" | "False" | "Unknown";
  /** The generation of spec that the condition speaks of. */
  observedGeneration?: number;
  /** When status changed last. */
  lastTransitionTime: string;
  /** Why, in one word. */
  reason: string;
  /** Why, in words for people. */
  message: string;
}>;
