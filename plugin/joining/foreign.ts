/** Distinguishes clusters that this host joined from those that another host or a person joined. */
import { boundName, joinedByAnnotation, joinedName } from "#contract/joined.ts";
import { fleetOwnerAnnotation, namespace } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Named } from "../clusters/names.ts";
import { Refused } from "../terminal/io.ts";
import { titleOf } from "./departure.ts";
import { guardPaths, paths } from "./rights.ts";

/**
 * Whether the account exists. Throws Refused if another join has created it, unless the caller
 * adopts it. `next`: what the user can do in that case.
 */
export async function refuseForeign(
  there: Cluster,
  joinedBy: string,
  next: string,
  adopts = false,
): Promise<boolean> {
  const account = await there.get<Named>(paths.account);
  if (account === undefined) return false;
  const by = account.metadata?.annotations?.[joinedByAnnotation];
  if (by !== joinedBy && !adopts)
    throw new Refused(
      `${titleOf(paths.account)}: exists, and was made by ${by ?? "another client"}; ${next}`,
    );
  return true;
}

/**
 * Lists the objects that a join creates in a cluster, and the Secrets that are placed because of
 * the join. The list is for a person who has to delete them by hand.
 */
export const allThatIsMade =
  `in ${namespace} serviceaccount/${joinedName} and secret/${boundName}; in every namespace ` +
  `the Secrets that role/${joinedName} names and that have the annotation ` +
  `${fleetOwnerAnnotation}, then that Role and rolebinding/${joinedName}; ` +
  [paths.clusterBinding, paths.clusterRole, ...guardPaths].map(titleOf).join(", ");
