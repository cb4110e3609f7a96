/** Removes from a cluster all objects that a join created there. */
import type { V1Secret } from "@kubernetes/client-node";
import { joinedByAnnotation } from "#contract/joined.ts";
import { fleetOwnerAnnotation } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import type { Named } from "../clusters/names.ts";
import { guardPaths, pathOf, paths, type Target } from "./rights.ts";
import { rolesIn, targetsOf } from "./targets.ts";

/**
 * Deletes the account first. Its token is then no longer valid, so the fleet's controller cannot
 * repair the objects that we delete next: bindings, the Secrets that this host's FleetSecrets have
 * placed (except with `keepSecrets`), and Roles. The Roles come after the Secrets, because only the
 * Roles show where Secrets can be: if this removal fails, the next removal needs the Roles. We
 * delete only objects that carry `joinedBy` or this host's mark. Returns a line for each deleted
 * object.
 */
export async function leave(
  there: Cluster,
  joinedBy: string,
  keepSecrets = false,
): Promise<readonly string[]> {
  const made = isMadeBy(joinedBy);
  const found = await rolesIn(there, made);
  const spaces = found.map(({ metadata }) => metadata?.namespace ?? "");
  const [hostId] = joinedBy.split("/");
  const placed = ({ metadata }: V1Secret) =>
    metadata?.annotations?.[fleetOwnerAnnotation]?.startsWith(`${hostId}/`) === true;
  const deleted: string[] = [];
  const dropAll = async (all: readonly string[], isOurs: (one: Named) => boolean) => {
    for (const path of all) if (await drop(there, path, isOurs)) deleted.push(titleOf(path));
  };
  await dropAll([paths.account, paths.bound, paths.clusterBinding, paths.clusterRole], made);
  await dropAll(
    spaces.map((where) => pathOf("rolebindings", where)),
    made,
  );
  if (!keepSecrets) await dropAll(found.flatMap(targetsOf).map(pathOfSecret), placed);
  await dropAll(
    spaces.map((where) => pathOf("roles", where)),
    made,
  );
  // The guards come last: without the account, they have no purpose.
  await dropAll(guardPaths.toReversed(), made);
  return deleted;
}

/** Deletes the object if it exists and is ours. Returns whether it has deleted the object. */
export async function drop(
  there: Cluster,
  path: string,
  isOurs: (one: Named) => boolean,
): Promise<boolean> {
  const found = await there.get<Named>(path, { as: "metadata" });
  if (found === undefined || !isOurs(found)) return false;
  await there.remove(path, found.metadata?.uid ?? "");
  return true;
}

/** Whether this join has created the object. */
export const isMadeBy =
  (joinedBy: string) =>
  ({ metadata }: Named): boolean =>
    metadata?.annotations?.[joinedByAnnotation] === joinedBy;

/** An API path as `serviceaccount/NAME`. */
export function titleOf(path: string): string {
  const [resource = "", name = ""] = path.split("/").slice(-2);
  return `${resource.replace(/ies$/, "y").replace(/s$/, "")}/${name}`;
}

const pathOfSecret = ({ namespace, name }: Target): string => `${secretsIn(namespace)}/${name}`;
