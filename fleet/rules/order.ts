/**
 * Decides which clusters to change now, by the rules of the rollout to nodes: a cluster's word of
 * failure counts, and its silence does not. Pure.
 */
import { createHash } from "node:crypto";

export type RolloutState =
  /** Has proved the content. */
  | "done"
  /** Has a place: it is being changed, or has not proved the content yet. */
  | "working"
  /** Answers, and has not had the content yet. */
  | "waiting"
  /** Has had its place for this content, and has not proved the content. */
  | "slow"
  /** Refuses this content. */
  | "refused"
  /** Cannot take or prove any content now, for its own reasons. */
  | "unreachable";

export type RankedCluster = Readonly<{
  name: string;
  rolloutState: RolloutState;
  /**
   * True if the cluster has had its place for this content, and the content can be written there
   * now, because it was lost or refused. Such a write needs no place.
   */
  isDue?: boolean | undefined;
  /** Selected by `rollout.canaries`. */
  isCanary?: boolean | undefined;
}>;

export type RolloutPace = Readonly<{
  /** A number, or a percentage of the reachable clusters, such as `10%`. `100%`: all now. */
  maxUnavailable: number | string;
  /** A number, or a percentage as above. */
  maxFailures: number | string;
}>;

export type FleetAction = Readonly<{
  /** Names of the clusters to change now. */
  change: readonly string[];
  /** Too many clusters refuse the content, so no other cluster gets it. */
  halted: boolean;
}>;

/**
 * The clusters in the order in which they get the content with this digest. Each content has
 * another order, which a cluster can learn only after it got the content. In an order that stays
 * the same, two clusters that come first and refuse would halt every rollout.
 */
export const inTurn = <T extends Pick<RankedCluster, "name">>(
  clusters: readonly T[],
  digest: string,
): readonly T[] =>
  clusters
    .map((cluster) => ({
      cluster,
      turn: createHash("sha256").update(`${digest}/${cluster.name}`).digest("hex"),
    }))
    .toSorted((a, b) => (a.turn < b.turn ? -1 : 1))
    .map(({ cluster }) => cluster);

/**
 * The clusters to change now, in the order of `clusters`. One cluster goes first. Each proof opens
 * two more places, up to `maxUnavailable`. A slow cluster only frees its own place, because content
 * that silences nodes must not open places. More than `maxFailures` refusals halt the rollout.
 * While no cluster has the content, a percentage in `maxFailures` counts as the number 1, because a
 * single cluster might be hostile. During a halt, we write only to clusters that refused, and to
 * clusters that had proved the content and lost it.
 */
export function nextChanges(
  clusters: readonly RankedCluster[],
  { maxUnavailable, maxFailures }: RolloutPace,
): FleetAction {
  const count = countsOf(clusters);
  const reached = clusters.length - count.unreachable;
  const isCounted = count.done > 0 || typeof maxFailures === "number";
  const halted = count.refused > (isCounted ? limitOf(maxFailures, reached) : 1);
  const mayRepeat = ({ rolloutState }: RankedCluster) =>
    !halted || rolloutState === "done" || rolloutState === "refused";
  const due = clusters.filter((cluster) => cluster.isDue === true && mayRepeat(cluster));
  const isAll = maxUnavailable === "100%";
  const open = clusters.filter(({ rolloutState }) => ["waiting", "working"].includes(rolloutState));
  const canariesFirst = !isAll && open.some(({ isCanary }) => isCanary);
  const candidates = open.filter(
    ({ rolloutState, isCanary }) => rolloutState === "waiting" && (!canariesFirst || isCanary),
  );
  const places = isAll
    ? Number.POSITIVE_INFINITY
    : Math.min(limitOf(maxUnavailable, reached), 1 + 2 * count.done);
  const free = halted ? 0 : Math.max(0, places - count.working);
  return { change: namesOf([...due, ...candidates.slice(0, free)]), halted };
}

const namesOf = (clusters: readonly RankedCluster[]) => clusters.map(({ name }) => name);

function countsOf(clusters: readonly RankedCluster[]): Readonly<Record<RolloutState, number>> {
  const counts = { done: 0, working: 0, waiting: 0, slow: 0, refused: 0, unreachable: 0 };
  for (const { rolloutState } of clusters) counts[rolloutState] += 1;
  return counts;
}

/** The number of clusters that `limit` allows. A percentage allows at least one. */
const limitOf = (limit: number | string, reached: number): number =>
  typeof limit === "number"
    ? limit
    : Math.max(1, Math.floor((Number.parseInt(limit, 10) / 100) * reached));
