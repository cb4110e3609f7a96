/** Undoes a join that fails: removes what it created, and reports the rest. */
import type { Cluster } from "#kube/client/cluster.ts";
import { profilePath, type Named } from "../clusters/names.ts";
import { drop, isMadeBy, titleOf } from "./departure.ts";
import type { Target } from "./rights.ts";

export type Pair = Readonly<{ host: Cluster; there: Cluster }>;

type Begun = Readonly<{
  name: string;
  joinedBy: string;
  /** Paths of what was written there, in their order. */
  made: readonly string[];
  /** The Secrets that its rights are for. */
  targets: readonly Target[];
  /** Those of the join whose account was there, none where they are unknown; else undefined. */
  former: readonly Target[] | undefined;
  /** It was joined before. */
  here: boolean;
}>;

/**
 * Removes what this join has made, and returns a sentence about what is left. An account that was
 * there before stays, with everything that belongs to it and what this join has written over it.
 */
export async function undo({ host, there }: Pair, begun: Begun): Promise<string> {
  const { name, joinedBy, made, former, here } = begun;
  const left: string[] = former === undefined ? [] : [standing(begun, former)];
  for (const path of former === undefined ? made.toReversed() : []) {
    const gone = await drop(there, path, isMadeBy(joinedBy)).catch(() => false);
    if (!gone) left.push(`${titleOf(path)} there: delete it`);
  }
  try {
    const path = profilePath(name);
    const profile = here ? undefined : await host.get<Named>(path);
    // Its Secret goes with it.
    if (profile !== undefined) await host.remove(path, profile.metadata?.uid ?? "");
  } catch {
    left.push(`clusterprofile/${name} here: delete it`);
  }
  if (here && former === undefined && made.length > 0)
    left.push("what an earlier join has made is still there");
  if (left.length > 0) return left.join(", ");
  return made.length === 0 ? "nothing is changed" : "nothing of it stands";
}

/** Whether the account may write what it could before; if not, how it may again. */
function standing({ made, targets }: Begun, former: readonly Target[]): string {
  if (made.length === 0) return "nothing is changed there";
  const titles = (all: readonly Target[]) =>
    all.map(({ namespace, name }) => `${namespace}/${name}`).toSorted();
  // The Roles alone say for which Secrets they are.
  const same = `${titles(former)}` === `${titles(targets)}`;
  if (same || !made.some((path) => path.includes("/roles/")))
    return "its rights there are for the same Secrets as before";
  const again = titles(former).map((one) => `--secret ${one}`);
  return (
    "its rights there are this join's already; for those that it had join again with " +
    (again.length > 0 ? again.join(" ") : "the --secret that it had")
  );
}
