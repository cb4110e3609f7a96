/**
 * Undoes a join that failed: deletes its objects, and lists the objects that could not be deleted.
 */
import type { Cluster } from "#kube/client/cluster.ts";
import { profilePath, type Named } from "../clusters/names.ts";
import { drop, isMadeBy, titleOf } from "./departure.ts";
import type { Target } from "./rights.ts";

export type Pair = Readonly<{ host: Cluster; there: Cluster }>;

type Begun = Readonly<{
  name: string;
  joinedBy: string;
  /** The paths of the objects that the join has written, in this order. */
  made: readonly string[];
  /** The Secrets that the account's rights cover. */
  targets: readonly Target[];
  /**
   * The Secrets of the earlier join. Empty if we could not read them. Undefined if the account did
   * not exist before.
   */
  former: readonly Target[] | undefined;
  /** Whether the cluster was already joined before this join. */
  here: boolean;
}>;

/**
 * Removes the objects that this join has created, and returns a sentence about the objects that
 * remain. If the account existed before this join, removes nothing in the joined cluster, so this
 * join's changes stay there.
 */
export async function undo({ host, there }: Pair, begun: Begun): Promise<string> {
  const { name, joinedBy, made, former, here } = begun;
  const left: string[] = former === undefined ? [] : [leftovers(begun, former)];
  for (const path of former === undefined ? made.toReversed() : []) {
    const gone = await drop(there, path, isMadeBy(joinedBy)).catch(() => false);
    if (!gone) left.push(`${titleOf(path)} there: delete it`);
  }
  try {
    const path = profilePath(name);
    const profile = here ? undefined : await host.get<Named>(path);
    // The token's Secret is deleted with the profile.
    if (profile !== undefined) await host.remove(path, profile.metadata?.uid ?? "");
  } catch {
    left.push(`clusterprofile/${name} here: delete it`);
  }
  if (here && former === undefined && made.length > 0)
    left.push("the objects of an earlier join still exist");
  if (left.length > 0) return left.join(", ");
  return made.length === 0 ? "nothing is changed" : "nothing of the join is left";
}

/**
 * A sentence that states whether the account still has its former rights and, if not, how to
 * restore them.
 */
function leftovers({ made, targets }: Begun, former: readonly Target[]): string {
  if (made.length === 0) return "nothing is changed there";
  const titles = (all: readonly Target[]) =>
    all.map(({ namespace, name }) => `${namespace}/${name}`).toSorted();
  // Only the Roles depend on the list of Secrets.
  const same = `${titles(former)}` === `${titles(targets)}`;
  if (same || !made.some((path) => path.includes("/roles/")))
    return "its rights there are for the same Secrets as before";
  const again = titles(former).map((one) => `--secret ${one}`);
  return (
    "its rights there are already changed; to restore the former rights, join again with " +
    (again.length > 0 ? again.join(" ") : "the former --secret")
  );
}
