/**
 * Decides which clusters to change now. Pure. The fields have the names and meanings of Open
 * Cluster Management, except that an unreachable cluster does not count as failed.
 */

export type RolloutState =
  /** Has the content, has proved it, and has kept it long enough. */
  | "done"
  /**
   * Has the content and has proved it, but has not kept it long enough yet. The cluster keeps its
   * slot.
   */
  | "soaking"
  /** Answers, and has other content or no content. */
  | "waiting"
  /**
   * Had proved this content and lost it. The cluster gets the content again without waiting for a
   * slot.
   */
  | "repair"
  /** Is being changed, or has not proved the content yet. */
  | "busy"
  /**
   * Could not take the content for its own reasons, or lost the content before it proved the
   * content. We may try the cluster again now, after all others.
   */
  | "again"
  /** Answers, and refuses this content. */
  | "failed"
  /** Refused this content, and we may try again now. */
  | "retry"
  /** Refused this content, and we are trying again. The cluster still counts as refusing. */
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
  /** Too many clusters refuse the content, so no other cluster gets it. */
  halted: boolean;
}>;

/**
 * The clusters to change now. Unreachable clusters take no slot, are never canaries and never count
 * as failed. The first clusters that have the content are the canaries, so a cluster that joins
 * later does not wait for a canary. More than `maxFailures` refusals halt the rollout. While no
 * cluster has the content, a percentage in `maxFailures` counts as the number 1: a single cluster
 * might be hostile, so if it refuses the content as a canary, we try one other cluster. During a
 * halt, we try only clusters that refused, and clusters that lost the content.
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

/** The number of clusters that `limit` allows. A percentage allows at least one. */
const slotsOf = (limit: number | string, reached: number): number =>
  typeof limit === "number"
    ? limit
    : Math.max(1, Math.floor((Number.parseInt(limit, 10) / 100) * reached));
