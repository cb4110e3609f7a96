/** A FleetSecret with every field of the CRD, like `whole` for GlobalPullSecret. */
import type {
  ClusterAPISource,
  ClusterProfileSelector,
  ClusterProfilesSource,
  ClusterStatus,
  FleetCanaries,
  FleetCondition,
  FleetCounts,
  FleetFailure,
  FleetRemoval,
  FleetRollout,
  FleetSecret,
  FleetSecretReference,
  FleetSecretSpec,
  FleetSecretStatus,
  FleetSecretTarget,
  ClusterSelector,
  LabelExpression,
  NamespaceSelector,
} from "./fleet-secret.ts";

const time = "2026-11-23T09:00:00Z";

const secretRef: Required<FleetSecretReference> = { name: "source-pull-secret" };
const expression: Required<LabelExpression> = { key: "tier", operator: "In", values: ["gold"] };
const namespaceSelector: Required<NamespaceSelector> = {
  matchLabels: {},
  matchExpressions: [expression],
};
const clusterSelector: Required<ClusterSelector> = {
  matchLabels: {},
  matchExpressions: [expression],
};
const clusterAPI: Required<ClusterAPISource> = {
  namespaceSelector,
  clusterNameLabelValue: "Namespace",
  clusterSelector,
};
const selector: Required<ClusterProfileSelector> = {
  matchLabels: {},
  matchExpressions: [expression],
};
const clusterProfiles: Required<ClusterProfilesSource> = {
  namespaces: ["global-pull-secret-clusters"],
  selector,
  clusterManagers: ["globalpullsecret.io"],
};
const target: Required<FleetSecretTarget> = { namespace: "kube-system", name: "pull-secret" };
const canaries: Required<FleetCanaries> = { matchLabels: {}, matchExpressions: [expression] };
const rollout: Required<FleetRollout> = {
  canaries,
  maxUnavailable: "10%",
  maxFailures: "5%",
  minAvailable: "90%",
};
const removal: Required<FleetRemoval> = { grace: "5m", deadline: "1h" };
const spec: Required<FleetSecretSpec> = {
  secretRef,
  clusterAPI,
  via: "Direct",
  clusterProfiles,
  target,
  rollout,
  managementState: "Managed",
  conflicts: "Refuse",
  removalPolicy: "Delete",
  removal,
};
const cluster: Required<ClusterStatus> = {
  name: "guest-a",
  state: "Failed",
  reason: "GPS435",
  since: time,
  startedAt: time,
};
const failure: Required<FleetFailure> = {
  name: "guest-a",
  reason: "GPS435",
  message: "the target exists and belongs to another program; delete or rename it there",
  since: time,
};
const condition: Required<FleetCondition> = {
  type: "Ready",
  status: "False",
  reason: "Progressing",
  message: "0 of 1 clusters have it",
  observedGeneration: 1,
  lastTransitionTime: time,
};
const counts: Required<FleetCounts> = {
  selected: 1,
  done: 0,
  waiting: 0,
  progressing: 0,
  failed: 1,
  unreachable: 0,
  leaving: 0,
};
const status: Required<FleetSecretStatus> = {
  observedGeneration: 1,
  sourceResourceVersion: "1",
  summary: "0/1",
  counts,
  clusters: [cluster],
  failures: [failure],
  givenUp: [failure],
  conditions: [condition],
};

export const wholeFleet: Required<FleetSecret> = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "FleetSecret",
  metadata: { name: "pull-secret", namespace: "kube-system" },
  spec,
  status,
};
