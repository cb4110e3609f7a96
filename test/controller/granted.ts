/** What an account may ask of the API server, by every role that it is bound to. */
import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
} from "@kubernetes/client-node";
import type { Plane, Request } from "./plane.ts";

type Binding = V1RoleBinding | V1ClusterRoleBinding;
type List<T> = Readonly<{ items: readonly T[] }>;

/**
 * As `verb group/resource namespace/name`, without a namespace where the right is for all of them,
 * and with `*` for a name where it is for every object.
 */
const right = (verb: string, resource: string, namespace: string, name: string) =>
  `${verb} ${resource} ${namespace && `${namespace}/`}${name || "*"}`;

/** Every right, whatever role in whatever namespace gives it. */
export async function granted(
  { cluster }: Pick<Plane, "cluster">,
  account = "global-pull-secret-controller",
): Promise<readonly string[]> {
  const [local, whole] = await Promise.all([
    cluster.get<List<V1RoleBinding>>("rolebindings", "-A"),
    cluster.get<List<V1ClusterRoleBinding>>("clusterrolebindings"),
  ]);
  const bindings: readonly Binding[] = [...(local?.items ?? []), ...(whole?.items ?? [])];
  const ours = bindings.filter(({ subjects }) => subjects?.some(({ name }) => name === account));
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

function rightsOf(role: V1Role | V1ClusterRole | undefined, namespace: string): string[] {
  return (role?.rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs, resourceNames }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (resourceNames ?? [""]).map((name) =>
            right(verb, [group, resource].filter(Boolean).join("/"), namespace, name),
          ),
        ),
      ),
    ),
  );
}

/**
 * The least right that a request needs: a patch that creates needs two, both for its name; what is
 * posted has its name in the body, where no right can be bound to it.
 */
export function needed({ verb, resource, namespace, name, code }: Request): readonly string[] {
  if (verb === "create") return [right(verb, resource, namespace, "")];
  const verbs = verb === "patch" && code === 201 ? [verb, "create"] : [verb];
  return verbs.map((one) => right(one, resource, namespace, name));
}
