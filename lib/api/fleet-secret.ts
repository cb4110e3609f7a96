/**
 * FleetSecret as TypeScript. Written from
 * manifests/chart/files/fleetsecrets/fleetsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { FleetConditionType } from "./fleet-reasons.ts";

/** Places one Secret in many clusters, keeps it there, and reports the progress. */
export type FleetSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** FleetSecret. */
  kind: "FleetSecret";
  metadata: V1ObjectMeta;
  /** Which Secret goes to which clusters, and how carefully. */
  spec: FleetSecretSpec;
  /** The progress. It contains no credential. */
  status?: FleetSecretStatus;
}>;

/** Which Secret goes to which clusters, and how carefully. */
export type FleetSecretSpec = Readonly<{
  /** The Secret of this namespace that the clusters get. It may be created later. */
  secretRef: FleetSecretReference;
  /**
   * The clusters that Cluster API declares: in each selected namespace, the cluster whose
   * kubeconfig is in the Secret NAMESPACE-kubeconfig, under the key value.
   */
  clusterAPI?: ClusterAPISource;
  /**
   * The clusters that ClusterProfiles declare. Selecting is authorising: anyone who can write a
   * ClusterProfile of these managers in these namespaces, or the Secret with its credential,
   * decides who gets the Secret.
   */
  clusterProfiles?: ClusterProfilesSource;
  /**
   * Direct: this controller places, proves, repairs and removes the Secret. ClusterResourceSet:
   * Cluster API's own controller only places it, by an object beside each Cluster. Default: Direct.
   */
  via?: "Direct" | "ClusterResourceSet";
  /**
   * The Secret that the clusters get. If a cluster's GlobalPullSecret lists
   * kube-system/fleet-pull-secret as a source, the Secret reaches that cluster's nodes, and the
   * controller waits until the nodes have proved it.
   */
  target: FleetSecretTarget;
  /** How a change goes from cluster to cluster. */
  rollout?: FleetRollout;
  /**
   * Paused stops every change in the clusters, even a removal, until the object is deleted.
   * Default: Managed.
   */
  managementState?: "Managed" | "Paused";
  /**
   * How to treat a Secret at the target that this object has not placed. Refuse: it is reported and
   * not touched. Adopt: its content is replaced, and it is later deleted. Default: Refuse.
   */
  conflicts?: "Refuse" | "Adopt";
  /**
   * Whether the Secret leaves a cluster that is no longer served (Delete), or stays there (Orphan).
   * Default: Delete.
   */
  removalPolicy?: "Delete" | "Orphan";
  /** How long a removal waits. */
  removal?: FleetRemoval;
}>;

/** The Secret of this namespace that the clusters get. It may be created later. */
export type FleetSecretReference = Readonly<{
  /** Its name. */
  name: string;
}>;

/**
 * The clusters that Cluster API declares: in each selected namespace, the cluster whose kubeconfig
 * is in the Secret NAMESPACE-kubeconfig, under the key value.
 */
export type ClusterAPISource = Readonly<{
  /**
   * What the label cluster.x-k8s.io/cluster-name of a cluster holds. Namespace: each namespace has
   * one cluster, with its name. Name: a namespace may have several clusters, each with its own
   * name. Default: Namespace.
   */
  clusterNameLabelValue?: "Namespace" | "Name";
  /**
   * Which namespaces are served. Selecting is authorising: anyone who can label Namespaces decides
   * who gets the Secret. An empty selector, {}, selects every namespace, with a warning in the
   * status.
   */
  namespaceSelector: NamespaceSelector;
  /**
   * Which Clusters of these namespaces are served, by the labels of the Cluster objects. All, if
   * left out.
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
  /** The condition on its value. */
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  /** Values of In and NotIn. */
  values?: readonly string[];
}>;

/**
 * Which Clusters of these namespaces are served, by the labels of the Cluster objects. All, if left
 * out.
 */
export type ClusterSelector = Readonly<{
  /** The labels that a Cluster must have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/**
 * The clusters that ClusterProfiles declare. Selecting is authorising: anyone who can write a
 * ClusterProfile of these managers in these namespaces, or the Secret with its credential, decides
 * who gets the Secret.
 */
export type ClusterProfilesSource = Readonly<{
  /** The namespaces whose ClusterProfiles are read. */
  namespaces: readonly string[];
  /** Which of these profiles are served; {} selects all of them. */
  selector: ClusterProfileSelector;
  /**
   * The managers whose ClusterProfiles are trusted, by spec.clusterManager.name. The manager of
   * joined clusters is globalpullsecret.io.
   */
  clusterManagers: readonly string[];
}>;

/** Which of these profiles are served; {} selects all of them. */
export type ClusterProfileSelector = Readonly<{
  /** The labels that a ClusterProfile must have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/**
 * The Secret that the clusters get. If a cluster's GlobalPullSecret lists
 * kube-system/fleet-pull-secret as a source, the Secret reaches that cluster's nodes, and the
 * controller waits until the nodes have proved it.
 */
export type FleetSecretTarget = Readonly<{
  /** Its namespace, which must exist in the cluster. Default: kube-system. */
  namespace?: string;
  /** Its name. */
  name: string;
}>;

/** How a change goes from cluster to cluster. */
export type FleetRollout = Readonly<{
  /**
   * Which clusters get a change first, by the labels of their Namespaces, of their Clusters with
   * clusterNameLabelValue Name, or of their ClusterProfiles. The others follow in an order that
   * nobody can choose.
   */
  canaries?: FleetCanaries;
  /**
   * How many clusters are changed at a time, a number or a percentage of the reachable clusters; at
   * least one. One cluster goes first, and each proof opens two more places. A cluster has its
   * place for two minutes at most. 100%: all clusters at once. Default: 10%.
   */
  maxUnavailable?: number | string;
  /**
   * How many clusters may refuse the content before the rollout halts: a number, or a percentage of
   * the reachable clusters, at least one. While no cluster has the content, a percentage counts as
   * one; a number counts from the start. A cluster that cannot take it for its own reasons, such as
   * rights or admission, does not count. Default: 5%.
   */
  maxFailures?: number | string;
  /**
   * How many of the reachable clusters must have the content for the condition Available, a number
   * or a percentage, besides more than half of the selected clusters. Default: 90%.
   */
  minAvailable?: number | string;
}>;

/**
 * Which clusters get a change first, by the labels of their Namespaces, of their Clusters with
 * clusterNameLabelValue Name, or of their ClusterProfiles. The others follow in an order that
 * nobody can choose.
 */
export type FleetCanaries = Readonly<{
  /** The labels that these clusters have, all of them. */
  matchLabels?: Readonly<Record<string, string>>;
  /** Conditions on labels. All must hold. */
  matchExpressions?: readonly LabelExpression[];
}>;

/** How long a removal waits. */
export type FleetRemoval = Readonly<{
  /**
   * How long a cluster must be out of the selection before the Secret is removed there. Default:
   * 5m.
   */
  grace?: string;
  /**
   * How long a removal waits, after the grace period, for clusters that cannot be reached or refuse
   * it; then they keep the Secret. Default: 1h.
   */
  deadline?: string;
}>;

/** The progress. It contains no credential. */
export type FleetSecretStatus = Readonly<{
  /** The generation of spec that this describes. */
  observedGeneration?: number;
  /** The version of the source that the clusters' states refer to. */
  sourceResourceVersion?: string;
  /** Clusters that have the content, out of the selected clusters. */
  summary?: string;
  /** The clusters by state; selected counts all except the leaving ones. */
  counts?: FleetCounts;
  /** Every cluster that is served, or was served and is not given up yet. */
  clusters?: readonly ClusterStatus[];
  /**
   * At most ten clusters that failed, then clusters that became unreachable or did not start the
   * change, the newest first. An entry disappears when its cluster has the content.
   */
  failures?: readonly FleetFailure[];
  /**
   * The newest 100 clusters that were given up at removal.deadline and may keep the Secret. An
   * entry disappears when its cluster is selected again, and after 30 days.
   */
  givenUp?: readonly FleetFailure[];
  /** Ready, Reconciling and Stalled, as kstatus reads them, Available, and Warning. */
  conditions?: readonly FleetCondition[];
}>;

/** The clusters by state; selected counts all except the leaving ones. */
export type FleetCounts = Readonly<{
  /** Clusters that should have the content. */
  selected: number;
  /** Clusters that have the content. */
  done: number;
  /** Clusters that wait for their turn, or do not start the change. */
  waiting: number;
  /** Clusters that are being changed, or have not proved the content yet. */
  progressing: number;
  /** Clusters that refuse the content. */
  failed: number;
  /** Clusters that do not answer. */
  unreachable: number;
  /** Clusters that are no longer selected but may still have the Secret. */
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
   * As in status.counts. Done: the Secret was read back there, and the nodes have it if they must
   * prove it. Failed also if the kubeconfig cannot be used. Unreachable: it is served when it
   * answers again.
   */
  state: "Waiting" | "Progressing" | "Done" | "Failed" | "Unreachable" | "Leaving";
  /** The reason, with a code if there is one. */
  reason?: string;
  /** Since when it is in this state. */
  since: string;
  /** When the present content was first written there. */
  startedAt?: string;
}>;

/** A cluster and what failed there. */
export type FleetFailure = Readonly<{
  /** The cluster's name, as in status.clusters. */
  name: string;
  /** The code, explained in docs/reference/errors.md. */
  reason: string;
  /** The failure, and what to do. It never has the body of a cluster's answer. */
  message: string;
  /** Since when it has been failing like this. */
  since: string;
}>;

/** A condition. */
export type FleetCondition = Readonly<{
  /** Ready, Reconciling, Stalled, Available or Warning. */
  type: FleetConditionType;
  /** True, False or Unknown. */
  status: "True" | "False" | "Unknown";
  /** The reason, in one word. */
  reason: string;
  /** The reason, for people. */
  message?: string;
  /** The generation of spec that this describes. */
  observedGeneration?: number;
  /** When the condition last changed its status. */
  lastTransitionTime: string;
}>;
