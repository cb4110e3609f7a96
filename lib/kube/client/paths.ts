/** Paths of objects in the API. */
import {
  globalPullSecretName,
  globalSecretName,
  namespace,
  stateSecretName,
  agentName,
} from "#contract/names.ts";
import { leaseName } from "./ownership.ts";

/** A collection's path in a namespace. */
const collection = (group: string, resource: string, where = namespace) =>
  `/${group}/namespaces/${where}/${resource}`;

const rbacGroup = "apis/rbac.authorization.k8s.io/v1";

export const collections = {
  secrets: collection("api/v1", "secrets"),
  serviceAccounts: collection("api/v1", "serviceaccounts"),
  roles: collection(rbacGroup, "roles"),
  roleBindings: collection(rbacGroup, "rolebindings"),
  daemonSets: collection("apis/apps/v1", "daemonsets"),
  pods: collection("api/v1", "pods"),
  events: collection("api/v1", "events"),
  nodes: "/api/v1/nodes",
  nodePullSecrets: collection("apis/globalpullsecret.io/v1alpha1", "nodepullsecrets"),
  globalPullSecrets: "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets",
} as const;

/** The objects that we own, in the order in which they are created. */
export const owned = {
  state: `${collections.secrets}/${stateSecretName}`,
  global: `${collections.secrets}/${globalSecretName}`,
  serviceAccount: `${collections.serviceAccounts}/${agentName}`,
  role: `${collections.roles}/${agentName}`,
  roleBinding: `${collections.roleBindings}/${agentName}`,
  daemonSet: `${collections.daemonSets}/${agentName}`,
} as const;

/**
 * Path of the Lease (lease.ts), in the controller's own namespace. It is not among the objects that
 * we own, because it stays when those objects are removed.
 */
export const leaseIn = (where: string, name = leaseName): string =>
  `${collection("apis/coordination.k8s.io/v1", "leases", where)}/${name}`;

/**
 * Path of the object with policy and status. It is not among the objects that we own, because it
 * belongs to the user.
 */
export const globalPullSecretPath = `${collections.globalPullSecrets}/${globalPullSecretName}`;

export type OwnedName = keyof typeof owned;

/** The collection of Secrets in the namespace `where`. The original can be outside kube-system. */
export const secretsIn = (where: string): string => collection("api/v1", "secrets", where);

export const fleetSecretsIn = (where: string): string =>
  collection("apis/globalpullsecret.io/v1alpha1", "fleetsecrets", where);

/** The collection of SyncSecrets in every namespace. */
export const allSyncSecrets = "/apis/globalpullsecret.io/v1alpha1/syncsecrets";

export const allFleetSecrets = "/apis/globalpullsecret.io/v1alpha1/fleetsecrets";

/** Cluster API's Clusters of every namespace. */
export const allClusters = "/apis/cluster.x-k8s.io/v1beta2/clusters";

/** Cluster API's ClusterResourceSets. */
export const clusterResourceSetsIn = (where: string): string =>
  collection("apis/addons.cluster.x-k8s.io/v1beta2", "clusterresourcesets", where);

/** ClusterProfiles of SIG Multicluster's cluster inventory. */
export const clusterProfilesIn = (where: string): string =>
  collection("apis/multicluster.x-k8s.io/v1alpha1", "clusterprofiles", where);

/** The admission policy that lets an agent report only about its own node, and its binding. */
export const nodesPolicy = "global-pull-secret-nodes";

const admission = "/apis/admissionregistration.k8s.io/v1";
export const nodesPolicyPath = `${admission}/validatingadmissionpolicies/${nodesPolicy}`;
export const nodesBindingPath = `${admission}/validatingadmissionpolicybindings/${nodesPolicy}`;

/** The collection of pods in the controller's own namespace. */
export const podsIn = (where: string): string => collection("api/v1", "pods", where);
