/** The Secrets that the account is allowed to write in a joined cluster. */
import type { V1Role, V1RoleList } from "@kubernetes/client-node";
import { joinedName } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Named, target } from "../clusters/names.ts";
import type { Target } from "./rights.ts";

/**
 * The default Secrets: the Secret of the walk-through in docs/, and the Secret that an installation
 * in the joined cluster uses.
 */
export const usual: readonly Target[] = ["pull-secret", "fleet-pull-secret"].map((name) => ({
  namespace,
  name,
}));

const roles = "/apis/rbac.authorization.k8s.io/v1/roles";

/**
 * The Secrets to which an earlier join has granted rights. If a repeated join names no Secrets, it
 * keeps all of these, because `clusters remove` finds the placed Secrets only by the Roles.
 */
export async function grantedTargets(
  there: Cluster,
  made: (one: Named) => boolean,
): Promise<readonly Target[]> {
  const named = (await rolesIn(there, made)).flatMap(targetsOf);
  // Another client might have changed the Role, so we leave out names that --secret would refuse.
  return named.filter((one) => !(target(`${one.namespace}/${one.name}`) instanceof Wrong));
}

/** Our Roles in all namespaces. They show where FleetSecrets can have placed Secrets. */
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
