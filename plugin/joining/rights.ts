/**
 * The objects for a joined cluster: an account with the rights that a FleetSecret needs there.
 * Pure.
 */
import {
  joinedGuards,
  objectsOf,
  boundName,
  joinedByAnnotation,
  joinedName,
} from "#contract/joined.ts";
import { globalPullSecretName, namespace } from "#contract/names.ts";
import type { V1Role, V1RoleList } from "@kubernetes/client-node";
import { secretsIn } from "#kube/client/paths.ts";
import { Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Named, target } from "../clusters/profile.ts";

/** A Secret that FleetSecrets are allowed to place in the joined cluster. */
export type Target = Readonly<{ namespace: string; name: string }>;

type Made = Readonly<{ path: string; body: object }>;
export type MadeGuard = ReturnType<typeof objectsOf>[number];

const rbac = "rbac.authorization.k8s.io";
const group = `/apis/${rbac}/v1`;
const core = "/api/v1";

/**
 * Policies for the account, with limits that RBAC cannot express. A join creates the policies
 * first, so that they are in force before a token exists.
 */
export const guardsOf = (joinedBy: string): readonly MadeGuard[] =>
  joinedGuards.flatMap((guard) =>
    objectsOf(guard, { annotations: { [joinedByAnnotation]: joinedBy } }),
  );

/** API paths of the guards. */
export const guardPaths: readonly string[] = guardsOf("").map(({ path }) => path);

/**
 * The objects in the order of their creation. `joinedBy` names the host that joined the cluster.
 */
export function rightsOf(targets: readonly Target[], joinedBy: string): readonly Made[] {
  const spaces = [...new Set([namespace, ...targets.map((secret) => secret.namespace)])];
  const its = (apiVersion: string, kind: string, name: string, where?: string) => ({
    apiVersion,
    kind,
    metadata: {
      name,
      ...(where === undefined ? {} : { namespace: where }),
      annotations: { [joinedByAnnotation]: joinedBy },
    },
  });
  const roles = spaces.map((where) => ({
    path: pathOf("roles", where),
    body: { ...its(`${rbac}/v1`, "Role", joinedName, where), rules: rulesIn(where, targets) },
  }));
  const bindings = spaces.map((where) => ({
    path: pathOf("rolebindings", where),
    body: { ...its(`${rbac}/v1`, "RoleBinding", joinedName, where), ...binding("Role") },
  }));
  return [
    { path: paths.account, body: its("v1", "ServiceAccount", joinedName, namespace) },
    { path: paths.bound, body: its("v1", "Secret", boundName, namespace) },
    ...roles,
    { path: paths.clusterRole, body: { ...its(`${rbac}/v1`, "ClusterRole", joinedName), rules } },
    ...bindings,
    {
      path: paths.clusterBinding,
      body: { ...its(`${rbac}/v1`, "ClusterRoleBinding", joinedName), ...binding("ClusterRole") },
    },
  ];
}

export const pathOf = (resource: "roles" | "rolebindings", where: string): string =>
  `${group}/namespaces/${where}/${resource}/${joinedName}`;

export const paths = {
  account: `${core}/namespaces/${namespace}/serviceaccounts/${joinedName}`,
  /** When this Secret is deleted, the account's token is no longer valid. */
  bound: `${core}/namespaces/${namespace}/secrets/${boundName}`,
  clusterRole: `${group}/clusterroles/${joinedName}`,
  clusterBinding: `${group}/clusterrolebindings/${joinedName}`,
} as const;

/**
 * The rights to read the cluster's GlobalPullSecret, and to read the guards of the account. The
 * GlobalPullSecret shows whether the nodes have the Secret, but contains no credential.
 */
const rules = [
  {
    apiGroups: ["globalpullsecret.io"],
    resources: ["globalpullsecrets"],
    resourceNames: [globalPullSecretName],
    verbs: ["get", "list", "watch"],
  },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    resourceNames: joinedGuards.map(({ name }) => name),
    verbs: ["get"],
  },
];

function rulesIn(where: string, targets: readonly Target[]): readonly object[] {
  const names = targets.filter((secret) => secret.namespace === where).map(({ name }) => name);
  const secrets = {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: names,
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
  };
  // The right to renew the account's own token, but not the token of any other account.
  const renewal = {
    apiGroups: [""],
    resources: ["serviceaccounts/token"],
    resourceNames: [joinedName],
    verbs: ["create"],
  };
  // A rule without names would apply to all Secrets.
  return [...(names.length === 0 ? [] : [secrets]), ...(where === namespace ? [renewal] : [])];
}

const binding = (kind: "Role" | "ClusterRole") => ({
  roleRef: { apiGroup: rbac, kind, name: joinedName },
  subjects: [{ kind: "ServiceAccount", name: joinedName, namespace }],
});

/**
 * The default Secrets: the Secret of the walk-through in docs/, and the Secret that an installation
 * in the joined cluster uses.
 */
export const usual: readonly Target[] = ["pull-secret", "fleet-pull-secret"].map((name) => ({
  namespace,
  name,
}));

/**
 * The Secrets to which an earlier join has granted rights. If a repeated join names no Secrets, it
 * keeps all of these, because `fleet remove` finds the placed Secrets only by the Roles.
 */
export async function grantedTargets(
  cluster: Cluster,
  isOurs: (role: Named) => boolean,
): Promise<readonly Target[]> {
  const named = (await rolesIn(cluster, isOurs)).flatMap(targetsOf);
  // Another client might have changed the Role, so we leave out names that --secret would refuse.
  return named.filter((secret) => !(target(`${secret.namespace}/${secret.name}`) instanceof Wrong));
}

/** Our Roles in all namespaces. They show where FleetSecrets can have placed Secrets. */
export async function rolesIn(
  cluster: Cluster,
  isOurs: (role: Named) => boolean,
): Promise<readonly V1Role[]> {
  const query = new URLSearchParams({ fieldSelector: `metadata.name=${joinedName}` });
  const list = await cluster.get<V1RoleList>(`${group}/roles?${query}`);
  return (list?.items ?? []).filter(isOurs);
}

/** The path of a Secret that the account is allowed to write. */
export const secretPathOf = ({ namespace: where, name }: Target): string =>
  `${secretsIn(where)}/${name}`;

export const targetsOf = ({ metadata, rules = [] }: V1Role): readonly Target[] =>
  rules
    .filter(({ resources }) => resources?.includes("secrets"))
    .flatMap(({ resourceNames = [] }) => resourceNames)
    .map((name) => ({ namespace: metadata?.namespace ?? "", name }));
