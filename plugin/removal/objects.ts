/**
 * Lists every object of the installation: the objects of the chart and the objects that the
 * controller creates.
 */
import { agentName, namespace } from "#contract/names.ts";
import { fieldManager, leaseName } from "#kube/client/ownership.ts";

/** An object. `kubectl get KIND/NAME` finds it. `path` is its path in the API. */
export type InstalledObject = Readonly<{ kind: string; name: string; path: string }>;

const group = (api: string, plural: string, name: string, within = "") =>
  `/${api}${within === "" ? "" : `/namespaces/${within}`}/${plural}/${name}`;

function namespaced(
  kind: string,
  name: string,
  api: string,
  plural: string,
  within = namespace,
): InstalledObject {
  return { kind, name, path: group(api, plural, name, within) };
}

function clusterWide(kind: string, name: string, api: string, plural: string): InstalledObject {
  return { kind, name, path: group(api, plural, name) };
}

const rbac = "apis/rbac.authorization.k8s.io/v1";
const controller = fieldManager;
const original = "global-pull-secret-original";
const sources = "global-pull-secret-sources";
const use = "global-pull-secret-use";
const audience = "global-pull-secret-audience";
const monitoring = "apis/monitoring.coreos.com/v1";
const monitored = "global-pull-secret";

/**
 * An admission policy and its binding. We delete the binding first, because this switches the
 * policy off.
 */
function admissionPolicy(name: string): readonly InstalledObject[] {
  const api = "apis/admissionregistration.k8s.io/v1";
  const [binding, policy] = ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"];
  return [
    clusterWide(binding, name, api, "validatingadmissionpolicybindings"),
    clusterWide(policy, name, api, "validatingadmissionpolicies"),
  ];
}

export const deployment = namespaced("Deployment", controller, "apis/apps/v1", "deployments");

const definitionOf = (plural: string) =>
  clusterWide(
    "CustomResourceDefinition",
    `${plural}.globalpullsecret.io`,
    "apis/apiextensions.k8s.io/v1",
    "customresourcedefinitions",
  );

/** A CRD of ours. When we delete it, the API server also deletes all GlobalPullSecrets. */
export const definition = definitionOf("globalpullsecrets");

/**
 * The objects in the order of deletion, before the CRD of GlobalPullSecret. Programs come first, so
 * that they do not create objects again.
 */
export const installation: readonly InstalledObject[] = [
  namespaced("PodDisruptionBudget", controller, "apis/policy/v1", "poddisruptionbudgets"),
  deployment,
  // Policies that restrict the accounts of the controller and the agents. After the Deployment is
  // deleted, no program uses these accounts.
  ...["daemonset", "objects", "nodes"].flatMap((of) => admissionPolicy(`global-pull-secret-${of}`)),
  namespaced("RoleBinding", agentName, rbac, "rolebindings", "kube-node-lease"),
  namespaced("Role", agentName, rbac, "roles", "kube-node-lease"),
  clusterWide(
    "FlowSchema",
    "global-pull-secret-agents",
    "apis/flowcontrol.apiserver.k8s.io/v1",
    "flowschemas",
  ),
  namespaced("RoleBinding", controller, rbac, "rolebindings"),
  namespaced("Role", controller, rbac, "roles"),
  // For the chart's value original.
  namespaced("RoleBinding", original, rbac, "rolebindings"),
  namespaced("Role", original, rbac, "roles"),
  // For the chart's values extraSources and admission.
  namespaced("RoleBinding", sources, rbac, "rolebindings"),
  namespaced("Role", sources, rbac, "roles"),
  ...admissionPolicy(sources),
  // For the chart's value annotated.
  ...admissionPolicy(use),
  clusterWide("ClusterRole", use, rbac, "clusterroles"),
  clusterWide("ClusterRoleBinding", audience, rbac, "clusterrolebindings"),
  clusterWide("ClusterRole", audience, rbac, "clusterroles"),
  // For the chart's value monitoring.
  namespaced("PrometheusRule", monitored, monitoring, "prometheusrules"),
  namespaced("PodMonitor", monitored, monitoring, "podmonitors"),
  namespaced("ConfigMap", `${monitored}-dashboard`, "api/v1", "configmaps"),
  namespaced("Service", `${monitored}-metrics`, "api/v1", "services"),
  namespaced("NetworkPolicy", controller, "apis/networking.k8s.io/v1", "networkpolicies"),
  clusterWide("ClusterRoleBinding", controller, rbac, "clusterrolebindings"),
  clusterWide("ClusterRole", controller, rbac, "clusterroles"),
  clusterWide("ClusterRole", "globalpullsecret-viewer", rbac, "clusterroles"),
  namespaced("ServiceAccount", controller, "api/v1", "serviceaccounts"),
  // The controllers create this Lease to choose which of them writes.
  namespaced("Lease", leaseName, "apis/coordination.k8s.io/v1", "leases"),
  definitionOf("nodepullsecrets"),
];
