/**
 * FleetSecret as TypeScript. Written from
 * manifests/crds/fleetsecrets/fleetsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { FleetConditionType } from "./fleet-reasons.ts";

/** One Secret, brought to many clusters and kept there, and how far that is. */
export type FleetSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** FleetSecret. */
  kind: "FleetSecret";
  metadata: V1ObjectMeta;
  /** Which Secret goes where, and how carefully. */
  spec: FleetSecretSpec;
  /** How far it is. No credential is in it. */
  status?: FleetSecretStatus;
}>;

/** Which Secret goes where, and how carefully. */
export type FleetSecretSpec = Readonly<{
  /** The Secret of this namespace that is brought to the clusters. It may be created later. */
  secretRef: FleetSecretReference;
  /**
   * The clusters, as Cluster API declares them: of each namespace that is selected, the one whose
   * kubeconfig is in its Secret NAMESPACE-kubeconfig under the key value.
   */
  clusterAPI?: ClusterAPISource;
  /**
   * The clusters, as ClusterProfiles declare them. Selecting is authorising: anyone who can write a
   * ClusterProfile of these managers in these namespaces, or the Secret with its credential,
   * decides who gets the Secret.
   */
  clusterProfiles?: ClusterProfilesSource;
  /**
   * Who brings the Secret. Direct: this controller, which follows, proves, repairs and removes.
   * ClusterResourceSet: Cluster API's own controller, by an object beside each Cluster. It does not
   * prove, repair or remove. Default: Direct.
   */
  via?: "Direct" | "ClusterResourceSet";
  /**
   * The Secret that the clusters get. kube-system/fleet-pull-secret is handed over to the
   * GlobalPullSecret of a cluster that lists it as a source; then its nodes' proof is awaited.
   */
  target: FleetSecretTarget;
  /** How many clusters get a change at a time, in Open Cluster Management's words. */
  rollout?: FleetRollout;
  /**
   * Whether the clusters follow the Secret. Paused holds every change in them, a removal included,
   * until the object is deleted. Default: Managed.
   */
  managementState?: "Managed" | "Paused";
  /**
   * What becomes of a Secret that is at the target already and that this object has not placed.
   * Refuse: it is reported and left alone. Adopt: this object takes it over, replaces its content,
   * and later deletes it as its own. Default: Refuse.
   */
  conflicts?: "Refuse" | "Adopt";
  /**
   * The fate of the Secret in a cluster that is no longer served: Delete removes it, Orphan leaves
   * it. Default: Delete.
   */
  removalPolicy?: "Delete" | "Orphan";
  /** How long a removal waits. */
  removal?: FleetRemoval;
}>;

/** The Secret of this namespace that is brought to the clusters. It may be created later. */
export type FleetSecretReference = Readonly<{
  /** Its name. */
  name: string;
}>;

/**
 * The clusters, as Cluster API declares them: of each namespace that is selected, the one whose
 * kubeconfig is in its Secret NAMESPACE-kubeconfig under the key value.
 */
export type ClusterAPISource = Readonly<{
  /**
   * The names of the clusters in a namespace, as in their label cluster.x-k8s.io/cluster-name.
   * Namespace: there is one, with its namespace's name. Name: there may be several, each with a
   * name of its own. Default: Namespace.
   */
  clusterNameLabelValue?: "Namespace" | "Name";
  /**
   * Which namespaces are served. Selecting is authorising: anyone who can label Namespaces decides
   * who gets the Secret. An empty selector, {}, selects every namespace, with a warning in the
   * status.
   */
  namespaceSelector: NamespaceSelector;
  /**
   * Which Clusters of these namespaces are served, by the labels of the Cluster objects. Left out,
   * all of them.
   */
  clusterSelector?: ClusterSelector;
}>;

/**
 * Which namespaces are served. Selecting is authorising: anyone who can label Namespaces decides
 * who gets the Secret. An empty selector, {}, selects every namespace, with a warning in the
 * status.
 */
export type NamespaceSelector = Readonly<{
  /** The labels that a namespace must have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/** A condition on one label. */
export type LabelExpression = Readonly<{
  /** The label's name. */
  key: string;
  /** What must hold of its value. */
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  /** Values of In and NotIn. */
  values?: readonly string[];
}>;

/**
 * Which Clusters of these namespaces are served, by the labels of the Cluster objects. Left out,
 * all of them.
 */
export type ClusterSelector = Readonly<{
  /** The labels that a Cluster must have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/**
 * The clusters, as ClusterProfiles declare them. Selecting is authorising: anyone who can write a
 * ClusterProfile of these managers in these namespaces, or the Secret with its credential, decides
 * who gets the Secret.
 */
export type ClusterProfilesSource = Readonly<{
  /** The namespaces whose ClusterProfiles are looked at. */
  namespaces: readonly string[];
  /** Which of them are served; {} in full is all of them. */
  selector: ClusterProfileSelector;
  /**
   * The managers whose ClusterProfiles are believed, by spec.clusterManager.name. That of clusters
   * that were joined is globalpullsecret.io.
   */
  clusterManagers: readonly string[];
}>;

/** Which of them are served; {} in full is all of them. */
export type ClusterProfileSelector = Readonly<{
  /** The labels that a ClusterProfile must have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/**
 * The Secret that the clusters get. kube-system/fleet-pull-secret is handed over to the
 * GlobalPullSecret of a cluster that lists it as a source; then its nodes' proof is awaited.
 */
export type FleetSecretTarget = Readonly<{
  /** Its namespace, which must be there. Default: kube-system. */
  namespace?: string;
  /** Its name. */
  name: string;
}>;

/** How many clusters get a change at a time, in Open Cluster Management's words. */
export type FleetRollout = Readonly<{
  /** How many clusters must have a change before any other gets it. Default: 1. */
  canary?: number;
  /**
   * How many clusters are changed at a time, a number or a percentage of those that can be reached;
   * one at least. Default: 10%.
   */
  maxConcurrency?: number | string;
  /** How long a cluster must have a change before another one takes its place. Default: 0s. */
  minSuccessTime?: string;
  /**
   * How long a cluster that answers may take to prove a change. Then it is reported as failed, and
   * the next cluster gets its turn. None: as long as it wants. Default: 30m.
   */
  progressDeadline?: string;
  /**
   * How many clusters may refuse the content before no other gets it, a number or a percentage of
   * those that can be reached, one at least. A percentage is one while no cluster has the content;
   * a number counts from the start. A cluster that cannot take it for a reason of its own, such as
   * its rights or its admission, does not count. Default: 5%.
   */
  maxFailures?: number | string;
}>;

/** How long a removal waits. */
export type FleetRemoval = Readonly<{
  /**
   * How long a cluster must be out of the selection before anything is taken away there; a label
   * that comes back meanwhile changes nothing. Default: 5m.
   */
  grace?: string;
  /**
   * How long a removal waits, beyond the grace, for clusters that cannot be reached or refuse it;
   * then they keep the Secret. Default: 1h.
   */
  deadline?: string;
}>;

/** How far it is. No credential is in it. */
export type FleetSecretStatus = Readonly<{
  /** The generation of spec that this speaks of. */
  observedGeneration?: number;
  /** The version of the source that the clusters' states speak of. */
  sourceResourceVersion?: string;
  /** Clusters that have it, of those that should. */
  summary?: string;
  /** The clusters by state; selected are all but those that leave. */
  counts?: FleetCounts;
  /** Every cluster that is served, or was and is not yet given up. */
  clusters?: readonly ClusterStatus[];
  /**
   * The clusters that failed, and then those that became unreachable or did not take it up; of each
   * the newest first, ten of them at most. counts has all. One goes when its cluster has the
   * content.
   */
  failures?: readonly FleetFailure[];
  /**
   * The clusters that were given up at removal.deadline and may keep the Secret, the newest first,
   * 100 of them at most. One goes when it is selected again, and after 30 days.
   */
  givenUp?: readonly FleetFailure[];
  /** Ready, Reconciling and Stalled, as kstatus reads them, and Warning. */
  conditions?: readonly FleetCondition[];
}>;

/** The clusters by state; selected are all but those that leave. */
export type FleetCounts = Readonly<{
  /** Clusters that should have it. */
  selected: number;
  /** Clusters that have it. */
  done: number;
  /** Clusters whose turn it is not yet, or that do not take it up. */
  waiting: number;
  /** Clusters that are being changed, or have not proved it yet. */
  progressing: number;
  /** Clusters that refuse it, or were too late. */
  failed: number;
  /** Clusters that do not answer. */
  unreachable: number;
  /** Clusters that are no longer selected, and may have it. */
  leaving: number;
}>;

/** A cluster. */
export type ClusterStatus = Readonly<{
  /**
   * The namespace that declares it, NAMESPACE:NAME of its Cluster, or NAMESPACE/NAME of its
   * ClusterProfile.
   */
  name: string;
  /**
   * Waiting: its turn has not come. Progressing: it is changing, or has not proved the content yet.
   * Done: the Secret was read back there, and its nodes have it if they count. Failed: it refuses,
   * was too late, or its kubeconfig cannot be used. Unreachable: it does not answer, and is served
   * when it does. Leaving: it is no longer selected.
   */
  state: "Waiting" | "Progressing" | "Done" | "Failed" | "Unreachable" | "Leaving";
  /** Why, with a code where there is one. */
  reason?: string;
  /** Since when it is in this state. */
  since: string;
}>;

/** A cluster and what failed there. */
export type FleetFailure = Readonly<{
  /** The cluster's name, as in clusters. */
  name: string;
  /** The code, explained in docs/reference/errors.md. */
  reason: string;
  /**
   * The failure, and what to do. It contains the HTTP status and reason of a cluster's answer,
   * never its body.
   */
  message: string;
  /** Since when it fails so. */
  since: string;
}>;

/** A condition. */
export type FleetCondition = Readonly<{
  /** Ready, Reconciling, Stalled or Warning. */
  type: FleetConditionType;
  /** Whether it is so. */
  status: "True" | "False" | "Unknown";
  /** Why, in one word. */
  reason: string;
  /** Why, for people. */
  message?: string;
  /** The generation of spec that this speaks of. */
  observedGeneration?: number;
  /** When status last changed. */
  lastTransitionTime: string;
}>;
