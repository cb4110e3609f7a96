/** `fleet tenant`: prints the objects that a tenant's namespace in the management cluster needs. */
import { managementAccount, tenantAccount, tenantBound, tenantLabel } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import { command } from "#plugin/terminal/command.ts";

function namespace(value: string): string | Wrong {
  const fits = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value);
  if (!fits) return new Wrong("is not a valid namespace name (example: tenant-a)");
  // In kube-system, a tenant's Secret could affect the whole cluster, for example as a bootstrap
  // token.
  const own = value === "default" || value.startsWith("kube-");
  return own ? new Wrong("belongs to the cluster; give the tenant's own namespace") : value;
}

const flags = {
  NAMESPACE: {
    read: namespace,
    from: "operand",
    required: true,
    what: "the tenant's namespace in the management cluster",
  },
} as const;

export const tenant = command(
  {
    group: "fleet",
    what: "print the rights that the management cluster grants for a tenant's SyncSecrets",
    example: "tenant-a",
    more:
      "Prints the Namespace, a ResourceQuota, the tenant's ServiceAccount, and a Role and a\n" +
      "RoleBinding for each side. Apply them to the management cluster. They grant no right outside\n" +
      "the namespace.",
    flags,
  },
  async ({ NAMESPACE }, io) => {
    io.out(manifest(scalar(NAMESPACE)));
    return 0;
  },
);

/** Maximum number of SyncSecrets of the tenant. You can edit the printed ResourceQuota. */
const mostSecrets = 100;

/**
 * The name as YAML, in quotes if YAML would otherwise read a number, a boolean or null. kubectl
 * reads YAML 1.1, in which `on` and `y` are booleans.
 */
const scalar = (name: string): string =>
  /^(?!(?:y|yes|n|no|on|off|true|false|null)$)[a-z]/.test(name) ? name : JSON.stringify(name);

const manifest = (where: string): string => `apiVersion: v1
kind: Namespace
metadata:
  name: ${where}
  labels:
    ${tenantLabel}: ${where}
---
apiVersion: v1
kind: ResourceQuota
metadata:
  name: global-pull-secret-sync
  namespace: ${where}
spec:
  hard:
    count/syncsecrets.globalpullsecret.io: "${mostSecrets}"
---
# The controller of the tenant's side uses this account. The account has no right on Secrets.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${tenantAccount}
  namespace: ${where}
automountServiceAccountToken: false
---
# The account's tokens are bound to this Secret. If you delete the Secret, all these tokens are void.
apiVersion: v1
kind: Secret
metadata:
  name: ${tenantBound}
  namespace: ${where}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: ${tenantAccount}
  namespace: ${where}
rules:
  - apiGroups: [globalpullsecret.io]
    resources: [syncsecrets]
    verbs: [get, list, watch, create, patch, delete]
  # The account renews its own token. A policy of manifests/sync/management limits this right.
  - apiGroups: [""]
    resources: [serviceaccounts/token]
    resourceNames: [${tenantAccount}]
    verbs: [create]
---
${binding(tenantAccount, where, where)}---
# The Secrets' names are UIDs, which are not known in advance. So the rule allows all Secrets of this namespace.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: ${managementAccount}
  namespace: ${where}
rules:
  - apiGroups: [globalpullsecret.io]
    resources: [syncsecrets]
    verbs: [get, list, watch]
  - apiGroups: [globalpullsecret.io]
    resources: [syncsecrets/status]
    verbs: [patch]
  # For owner references that block a deletion, if admission plugin OwnerReferencesPermissionEnforcement is on.
  - apiGroups: [globalpullsecret.io]
    resources: [syncsecrets/finalizers]
    verbs: [update]
  - apiGroups: [""]
    resources: [secrets]
    verbs: [get, list, watch, create, patch, delete]
  - apiGroups: [""]
    resources: [events]
    verbs: [create]
---
${binding(managementAccount, where, "kube-system")}`;

const binding = (account: string, where: string, home: string): string =>
  `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: ${account}
  namespace: ${where}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: ${account}
subjects:
  - kind: ServiceAccount
    name: ${account}
    namespace: ${home}
`;
