/** Removes from a cluster all objects that a join created there. */
import type { V1Secret } from "@kubernetes/client-node";
import { joinedByAnnotation, boundName, joinedName } from "#contract/joined.ts";
import { fleetOwnerAnnotation, namespace } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Named } from "../clusters/profile.ts";
import { guardPaths, pathOf, paths, rolesIn, secretPathOf, targetsOf } from "./rights.ts";
import { Refused } from "../terminal/io.ts";

/**
 * Deletes the account first. Its token is then no longer valid, so the fleet's controller cannot
 * repair the objects that we delete next: bindings, the Secrets that this host's FleetSecrets have
 * placed, and Roles. The Roles come after the Secrets, because only the Roles show where Secrets
 * can be: if this removal fails, the next removal needs the Roles. We delete only objects that
 * carry `joinedBy` or this host's mark. Returns a line for each deleted object.
 */
export async function leave(cluster: Cluster, joinedBy: string): Promise<readonly string[]> {
  const isFromJoin = isMadeBy(joinedBy);
  const roles = await rolesIn(cluster, isFromJoin);
  const spaces = roles.map(({ metadata }) => metadata?.namespace ?? "");
  const [hostId] = joinedBy.split("/");
  const placed = ({ metadata }: V1Secret) =>
    metadata?.annotations?.[fleetOwnerAnnotation]?.startsWith(`${hostId}/`) === true;
  const deleted: string[] = [];
  const dropAll = async (all: readonly string[], isOurs: (object: Named) => boolean) => {
    for (const path of all) if (await drop(cluster, path, isOurs)) deleted.push(titleOf(path));
  };
  await dropAll([paths.account, paths.bound, paths.clusterBinding, paths.clusterRole], isFromJoin);
  await dropAll(
    spaces.map((where) => pathOf("rolebindings", where)),
    isFromJoin,
  );
  await dropAll(roles.flatMap(targetsOf).map(secretPathOf), placed);
  await dropAll(
    spaces.map((where) => pathOf("roles", where)),
    isFromJoin,
  );
  // The guards come last: without the account, they have no purpose.
  await dropAll(guardPaths.toReversed(), isFromJoin);
  return deleted;
}

/** Deletes the object if it exists and is ours. Returns whether it has deleted the object. */
export async function drop(
  cluster: Cluster,
  path: string,
  isOurs: (object: Named) => boolean,
): Promise<boolean> {
  const existing = await cluster.get<Named>(path, { as: "metadata" });
  if (existing === undefined || !isOurs(existing)) return false;
  await cluster.remove(path, existing.metadata?.uid ?? "");
  return true;
}

/** Whether this join has created the object. */
export const isMadeBy =
  (joinedBy: string) =>
  ({ metadata }: Named): boolean =>
    metadata?.annotations?.[joinedByAnnotation] === joinedBy;

/** An API path as `serviceaccount/NAME`. */
function titleOf(path: string): string {
  const [resource = "", name = ""] = path.split("/").slice(-2);
  return `${resource.replace(/ies$/, "y").replace(/s$/, "")}/${name}`;
}

/**
 * Whether the account exists. Throws Refused if another join has created the account and `adopts`
 * is not set. `next`: what the user can then do.
 */
export async function refuseForeign(
  cluster: Cluster,
  joinedBy: string,
  next: string,
  adopts = false,
): Promise<boolean> {
  const account = await cluster.get<Named>(paths.account);
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
