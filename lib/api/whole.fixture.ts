/**
 * A GlobalPullSecret with every field of the CRD in it. A test compares it with the CRD, so that
 * the types below accept exactly the CRD's fields.
 */
import type {
  CredentialProviderSpec,
  DeliverySpec,
  GlobalPullSecret,
  GlobalPullSecretSpec,
  GlobalPullSecretStatus,
  NodeFailure,
  NodesStatus,
  RefusedRevision,
  RegistryStatus,
  RevisionStatus,
  RolloutSpec,
  SecretReference,
  SourceSpec,
  SourceStatus,
  StatusCondition,
  VerificationSpec,
  WaitingNodes,
  WithdrawalSpec,
} from "./global-pull-secret.ts";

const time = "2026-11-23T09:00:00Z";

const secretRef: Required<SecretReference> = { name: "team-a-pull" };
const source: Required<SourceSpec> = { name: "team-a", secretRef, priority: 10 };
const credentialProvider: Required<CredentialProviderSpec> = {
  scope: "All",
};
const delivery: Required<DeliverySpec> = { mode: "CredentialProvider", credentialProvider };
const rollout: Required<RolloutSpec> = {
  maxUnavailable: "10%",
  maxFailures: 0,
  probation: "5s",
  minInterval: "0s",
};
const withdrawal: Required<WithdrawalSpec> = {
  onDelete: "Withdraw",
  grace: "30s",
  deadline: "10m",
  forgetAfter: "24h",
};

const verification: Required<VerificationSpec> = {
  mode: "Warn",
  images: ["registry.example/team/app:1"],
  interval: "1h",
};

const spec: Required<GlobalPullSecretSpec> = {
  managementState: "Managed",
  conflictPolicy: "PreferAdditional",
  protectedRegistries: ["registry.example:5000/team"],
  sources: [source],
  delivery,
  rollout,
  withdrawal,
  verification,
};

const refused: Required<RefusedRevision> = { revision: 6, since: time, reason: "NodesFailed" };
const revision: Required<RevisionStatus> = { inForce: 7, pending: 8, refused };
const verdict: Required<SourceStatus> = {
  name: "additional-pull-secret",
  resourceVersion: "812",
  servedResourceVersion: "790",
  accepted: "True",
  reason: "Accepted",
  message: "in order",
};
const registry: Required<RegistryStatus> = {
  registry: "quay.io",
  source: "team-a",
  shadows: ["original"],
  expires: "2026-01-01T12:00:00.000Z",
  verified: "Accepted",
  verifiedAt: time,
};
const waiting: Required<WaitingNodes> = { reason: "Silent", nodes: 1 };
const nodes: Required<NodesStatus> = {
  summary: "96/100",
  desired: 100,
  updated: 96,
  available: 98,
  unfit: 1,
  unreachable: 1,
  failed: 1,
  silent: 1,
  waiting: [waiting],
};
const failure: Required<NodeFailure> = {
  node: "n7",
  code: "GPS206",
  message: "the kubelet did not become healthy",
  since: time,
};
const condition: Required<StatusCondition> = {
  type: "Ready",
  status: "False",
  observedGeneration: 3,
  lastTransitionTime: time,
  reason: "RollingOut",
  message: "revision 8 is on 97 of 100 nodes",
};

const status: Required<GlobalPullSecretStatus> = {
  observedGeneration: 3,
  revision,
  sources: [verdict],
  registries: [registry],
  registriesOmitted: 1,
  nodes,
  failures: [failure],
  conditions: [condition],
};

export const whole: Required<GlobalPullSecret> = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name: "cluster" },
  spec,
  status,
};
