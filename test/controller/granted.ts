/**
 * Collects the rights of an account from every role to which the account or one of its groups is
 * bound.
 */
import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
} from "@kubernetes/client-node";
import { groupsOf } from "../cluster/rights.ts";
import type { Plane, Request } from "./plane.ts";

type Binding = V1RoleBinding | V1ClusterRoleBinding;
type List<T> = Readonly<{ items: readonly T[] }>;

/**
 * A right as `verb group/resource namespace/name`. An empty namespace means all namespaces, and the
 * name `*` means every object. For a request without a resource, the right is `verb path`.
 */
const right = (verb: string, resource: string, namespace: string, name: string) =>
  `${verb} ${resource} ${namespace && `${namespace}/`}${name || "*"}`;

/**
 * Kubernetes' default bindings (bootstrappolicy/policy.go). They give every account, also ours, the
 * same few rights: to read its own permissions, discovery and the issuer of tokens.
 */
const defaultBindings: ReadonlySet<string> = new Set([
  "system:basic-user",
  "system:discovery",
  "system:public-info-viewer",
  "system:service-account-issuer-discovery",
]);

/**
 * Every right of a service account from any role in any namespace. `user` is the account's full
 * user name.
 */
export async function granted(
  { cluster }: Pick<Plane, "cluster">,
  user = "system:serviceaccount:kube-system:global-pull-secret-controller",
): Promise<readonly string[]> {
  const [local, whole] = await Promise.all([
    cluster.get<List<V1RoleBinding>>("rolebindings", "-A"),
    cluster.get<List<V1ClusterRoleBinding>>("clusterrolebindings"),
  ]);
  const others =
    whole?.items.filter(({ metadata }) => !defaultBindings.has(metadata?.name ?? "")) ?? [];
  const bindings: readonly Binding[] = [...(local?.items ?? []), ...others];
  const ours = bindings.filter(({ subjects }) => subjects?.some((subject) => isFor(subject, user)));
  const rights = await Promise.all(
    ours.map(async ({ roleRef, metadata }) => {
      const namespace = metadata?.namespace ?? "";
      const place = roleRef.kind === "Role" ? ["-n", namespace] : [];
      const role = await cluster.get<V1Role | V1ClusterRole>(roleRef.kind, roleRef.name, ...place);
      return rightsOf(role, namespace);
    }),
  );
  return rights.flat();
}

function isFor({ kind, name, namespace }: RbacV1Subject, user: string): boolean {
  if (kind === "ServiceAccount") return `system:serviceaccount:${namespace}:${name}` === user;
  return kind === "Group" ? groupsOf(user).includes(name) : name === user;
}

function rightsOf(role: V1Role | V1ClusterRole | undefined, namespace: string): string[] {
  return (role?.rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs, ...rule }) => {
    const { resourceNames = [""], nonResourceURLs = [] } = rule;
    const kinds = apiGroups.flatMap((group) =>
      resources.map((resource) => [group, resource].filter(Boolean).join("/")),
    );
    return verbs.flatMap((verb) => {
      const urls = nonResourceURLs.map((url) => `${verb} ${url}`);
      const named = resourceNames.map((name) =>
        kinds.map((kind) => right(verb, kind, namespace, name)),
      );
      return urls.concat(...named);
    });
  });
}

/**
 * The smallest rights that a request needs. A patch that creates an object needs two rights, and
 * both can be limited to the object's name. A POST request has the object's name only in its body,
 * so the right to the request cannot be limited to a name.
 */
export function needed(request: Request): readonly string[] {
  const { verb, resource, namespace, name, code, uri } = request;
  if (resource === "") return [`${verb} ${uri.replace(/\?.*/, "")}`];
  if (verb === "create") return [right(verb, resource, namespace, "")];
  const verbs = verb === "patch" && code === 201 ? [verb, "create"] : [verb];
  return verbs.map((neededVerb) => right(neededVerb, resource, namespace, name));
}
