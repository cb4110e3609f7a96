/** Which Secrets the account of a joined cluster may write there. */
import type { V1Role, V1RoleList } from "@kubernetes/client-node";
import { joinedName } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Named, target } from "../clusters/names.ts";
import type { Target } from "./rights.ts";

/** What FleetSecrets place by the walk-through, and for a cluster's own installation. */
export const usual: readonly Target[] = ["pull-secret", "fleet-pull-secret"].map((name) => ({
  namespace,
  name,
}));

const roles = "/apis/rbac.authorization.k8s.io/v1/roles";

/**
 * What an earlier join has granted. To join again keeps them all: the Roles alone say where Secrets
 * were placed, for a removal.
 */
export async function grantedTargets(
  there: Cluster,
  made: (one: Named) => boolean,
): Promise<readonly Target[]> {
  const named = (await rolesIn(there, made)).flatMap(targetsOf);
  // Others may have written to the Role, and what no join grants is not granted by the next.
  return named.filter((one) => !(target(`${one.namespace}/${one.name}`) instanceof Wrong));
}

/** Our Roles in whatever namespaces: they say where Secrets may have been placed. */
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
