/**
 * Decides which clusters are changed now. Pure. The terms are those of Open Cluster Management,
 * except that an unreachable cluster does not count as failed.
 */

export type RolloutState =
  /** Has the content, has proved it, and has kept it long enough. */
  | "done"
  /** Has the content, but not long enough yet. It keeps its slot. */
  | "soaking"
  /** Answers, and has other content. */
  | "waiting"
  /** Had this content and lost it. It gets the content again without waiting for a turn. */
  | "repair"
  /** Is being changed, or has not proved the content yet. */
  | "busy"
  /**
   * Could not take the content for its own reasons, or lost the content before proving it. It may
   * be tried again now, after all others.
   */
  | "again"
  /** Answers, and refuses this content. */
  | "failed"
  /** Refused this content, and may be tried again now. */
  | "retry"
  /** Refused this content and is being tried again. It still counts as refusing. */
  | "retrying"
  /** Cannot take or prove any content now, for its own reasons. */
  | "unreachable";

export type RankedCluster = Readonly<{ name: string; rolloutState: RolloutState }>;

export type RolloutPace = Readonly<{
  canary: number;
  /** A number, or a percentage of the reachable clusters, such as `10%`. */
  maxConcurrency: number | string;
  /** A number, or a percentage as above. */
  maxFailures: number | string;
}>;

export type FleetAction = Readonly<{
  /** Names of the clusters to change now, sorted. */
  change: readonly string[];
  /** The canary or too many clusters refuse the content, so no other cluster gets it. */
  halted: boolean;
}>;

/**
 * The clusters to change now. Unreachable clusters take no slot, are never canaries and never count
 * as failed. The first clusters that have the content are the canaries, so a cluster that joins
 * later does not wait for a canary. If a canary refuses the content, one other cluster is tried. A
 * single cluster may be hostile, so its refusal alone does not halt the rollout, unless
 * `maxFailures` is 0. More than `maxFailures` refusals halt the rollout. While no cluster has the
 * content, a percentage counts as the number 1. During a halt, only clusters that refuse are tried
 * again. Restoring content that a cluster already had is not a change, so it does not wait for
 * other clusters.
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

/** The number of clusters. A percentage is at least one. */
const slotsOf = (wanted: number | string, reached: number): number =>
  typeof wanted === "number"
    ? wanted
    : Math.max(1, Math.floor((Number.parseInt(wanted, 10) / 100) * reached));
