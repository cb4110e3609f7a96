/** The Secrets that the account may write in a joined cluster. */
import type { V1Role, V1RoleList } from "@kubernetes/client-node";
import { joinedName } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Named, target } from "../clusters/names.ts";
import type { Target } from "./rights.ts";

/**
 * The default Secrets: the Secret that the walk-through places, and the Secret that a cluster's own
 * installation uses.
 */
export const usual: readonly Target[] = ["pull-secret", "fleet-pull-secret"].map((name) => ({
  namespace,
  name,
}));

const roles = "/apis/rbac.authorization.k8s.io/v1/roles";

/**
 * The Secrets that an earlier join has granted. A repeated join keeps all of them, because
 * `clusters remove` finds the placed Secrets only by the Roles.
 */
export async function grantedTargets(
  there: Cluster,
  made: (one: Named) => boolean,
): Promise<readonly Target[]> {
  const named = (await rolesIn(there, made)).flatMap(targetsOf);
  // Another client may have changed the Role. We leave out names that --secret would refuse.
  return named.filter((one) => !(target(`${one.namespace}/${one.name}`) instanceof Wrong));
}

/** Our Roles in all namespaces. They show where Secrets may have been placed. */
export async function rolesIn(
  there: Cluster,
  made: (one: Named) => boolean,
): Promise<readonly V1Role[]> {
  const query = new URLSearchParams({ fieldSelector: `metadata.name=${joinedName}` });
  const list = await there.get<V1RoleList>(`${roles}?${query}`);
  return (list?.items ?? []).filter(made);
}

export const targetsOf = ({ metadata, rules = [] }: V1Role): readonly Target[] =>
  rules
    .filter(({ resources }) => resources?.includes("secrets"))
    .flatMap(({ resourceNames = [] }) => resourceNames)
    .map((name) => ({ namespace: metadata?.namespace ?? "", name }));
