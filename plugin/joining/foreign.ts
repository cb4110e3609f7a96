/** Distinguishes the account of this join from an account that another host or client created. */
import { boundName, joinedByAnnotation, joinedName } from "#contract/joined.ts";
import { fleetOwnerAnnotation, namespace } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Named } from "../clusters/names.ts";
import { Refused } from "../terminal/io.ts";
import { titleOf } from "./departure.ts";
import { guardPaths, paths } from "./rights.ts";

/**
 * Whether the account exists. Throws Refused if another join has created the account and `adopts`
 * is not set. `next`: what the user can then do.
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
 * A text for people who must delete by hand the objects that a join created in a cluster, and the
 * Secrets that FleetSecrets placed there.
 */
export const allThatIsMade =
  `in ${namespace} serviceaccount/${joinedName} and secret/${boundName}; in every namespace ` +
  `the Secrets that role/${joinedName} names and that have the annotation ` +
  `${fleetOwnerAnnotation}, then that Role and rolebinding/${joinedName}; ` +
  [paths.clusterBinding, paths.clusterRole, ...guardPaths].map(titleOf).join(", ");
