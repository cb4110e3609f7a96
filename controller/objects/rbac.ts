/**
 * The agents' identity. They hold no token and ask the API nothing, so their Role is empty. These
 * objects exist because people look for them, and because a ServiceAccount of their own keeps the
 * agents out of `default`.
 */
import type { V1Role, V1RoleBinding, V1ServiceAccount } from "@kubernetes/client-node";
import { namespace, agentName } from "#contract/names.ts";
import { ownerLabels } from "#kube/client/ownership.ts";

const metadata = { name: agentName, namespace, labels: { ...ownerLabels } };
const rbac = "rbac.authorization.k8s.io";

export const serviceAccount: V1ServiceAccount = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata,
  automountServiceAccountToken: false,
};

export const role: V1Role = { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: [] };

export const roleBinding: V1RoleBinding = {
  apiVersion: `${rbac}/v1`,
  kind: "RoleBinding",
  metadata,
  roleRef: { apiGroup: rbac, kind: "Role", name: agentName },
  subjects: [{ kind: "ServiceAccount", name: agentName, namespace }],
};
