/**
 * Which clusters are changed now. Pure. The terms and their meanings are Open Cluster Management's,
 * except that a cluster that cannot be reached does not count as failed.
 */

export type RolloutState =
  /** Has what the Secret says, proved, and for long enough. */
  | "done"
  /** Has it, but not for long enough yet; it keeps its slot. */
  | "soaking"
  /** Answers, and has something else. */
  | "waiting"
  /** Had this very content and lost it. It gets it back out of turn. */
  | "repair"
  /** Is being changed, or has been changed and has not proved it yet. */
  | "busy"
  /**
   * Could not take it for a reason of its own, or lost it before it proved it. It may be tried
   * again now, after all others.
   */
  | "again"
  /** Answers, and refuses this content. */
  | "failed"
  /** Refused this content, and may be tried again now. */
  | "retry"
  /** Refused this content, and is being tried again: it still counts as refusing it. */
  | "retrying"
  /** Cannot be served or proved now, for a reason of its own, whatever the content. */
  | "unreachable";

export type RankedCluster = Readonly<{ name: string; rolloutState: RolloutState }>;

export type RolloutPace = Readonly<{
  canary: number;
  /** A number, or a percentage of the clusters that can be reached, such as `10%`. */
  maxConcurrency: number | string;
  /** A number, or a percentage as above. */
  maxFailures: number | string;
}>;

export type FleetAction = Readonly<{
  /** Names of the clusters to change now, sorted. */
  change: readonly string[];
  /** The content is refused by the canary or by too many clusters, so no other gets it. */
  halted: boolean;
}>;

/**
 * The clusters to change now. Clusters that cannot be reached take no slot, are no canary and never
 * count as failed. The first clusters to have the content are the canaries, so a cluster that joins
 * when others have it waits for none. A canary that refuses the content is followed by one other:
 * one cluster alone, which may be hostile, halts nothing unless `maxFailures` is 0. More than
 * `maxFailures` halt; a percentage is one while no cluster has the content. Then only clusters that
 * refuse are tried again. Giving back content that a cluster had already is no change there, so it
 * waits for no other.
 */
export function nextChanges(clusters: readonly RankedCluster[], pace: RolloutPace): FleetAction {
  const named = (...standings: readonly RolloutState[]) =>
    clusters
      .filter(({ rolloutState }) => standings.includes(rolloutState))
      .map(({ name }) => name)
      .toSorted();
  const reached = clusters.filter(({ rolloutState }) => rolloutState !== "unreachable").length;
  const busy = named("busy", "soaking", "retrying").length;
  const repairs = named("repair");
  const done = named("done", "repair").length;
  const bearable = slotsOf(pace.maxFailures, reached);
  const refusals = named("failed", "retry", "retrying").length;
  const proved = done + named("soaking").length > 0;
  const counts = proved || typeof pace.maxFailures === "number";
  const halted = refusals > (counts ? bearable : 1);
  const candidates = halted
    ? named("retry")
    : [...named("waiting"), ...named("retry"), ...named("again")];
  const canaries = Math.min(pace.canary, reached);
  const slots =
    done < canaries ? canaries - done : Math.max(1, slotsOf(pace.maxConcurrency, reached));
  return { change: [...repairs, ...candidates.slice(0, Math.max(0, slots - busy))], halted };
}

/** So many clusters. A percentage is one at least. */
const slotsOf = (wanted: number | string, reached: number): number =>
  typeof wanted === "number"
    ? wanted
    : Math.max(1, Math.floor((Number.parseInt(wanted, 10) / 100) * reached));
