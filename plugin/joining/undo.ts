/** Undoes a join that fails: removes what it created, and reports the rest. */
import type { Cluster } from "#kube/client/cluster.ts";
import { profilePath, type Named } from "../clusters/names.ts";
import { drop, isMadeBy, titleOf } from "./departure.ts";
import type { Target } from "./rights.ts";

export type Pair = Readonly<{ host: Cluster; there: Cluster }>;

type Begun = Readonly<{
  name: string;
  joinedBy: string;
  /** The paths of the written objects, in the order of writing. */
  made: readonly string[];
  /** The Secrets that the account's rights cover. */
  targets: readonly Target[];
  /**
   * The Secrets of the earlier join if its account existed, or none if they are unknown. Undefined
   * if there was no account.
   */
  former: readonly Target[] | undefined;
  /** It was joined before. */
  here: boolean;
}>;

/**
 * Removes the objects that this join has created, and returns a sentence about what is left. If the
 * account existed before, the account and all of its objects stay, as this join has changed them.
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
    // Its Secret is deleted with it.
    if (profile !== undefined) await host.remove(path, profile.metadata?.uid ?? "");
  } catch {
    left.push(`clusterprofile/${name} here: delete it`);
  }
  if (here && former === undefined && made.length > 0)
    left.push("what an earlier join has made is still there");
  if (left.length > 0) return left.join(", ");
  return made.length === 0 ? "nothing is changed" : "nothing of it stands";
}

/** Whether the account still has the rights that it had before, and if not, how to restore them. */
function leftovers({ made, targets }: Begun, former: readonly Target[]): string {
  if (made.length === 0) return "nothing is changed there";
  const titles = (all: readonly Target[]) =>
    all.map(({ namespace, name }) => `${namespace}/${name}`).toSorted();
  // Only the Roles show for which Secrets they are.
  const same = `${titles(former)}` === `${titles(targets)}`;
  if (same || !made.some((path) => path.includes("/roles/")))
    return "its rights there are for the same Secrets as before";
  const again = titles(former).map((one) => `--secret ${one}`);
  return (
    "its rights there are this join's already; for those that it had join again with " +
    (again.length > 0 ? again.join(" ") : "the --secret that it had")
  );
}
