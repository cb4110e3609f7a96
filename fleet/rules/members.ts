/** The selected and the leaving clusters of a FleetSecret. Pure. */
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { secondsOf } from "#contract/values.ts";

export type Members = Readonly<{
  /** Selected clusters that we serve, sorted. */
  served: readonly string[];
  /**
   * Clusters that are no longer selected, sorted. `due`: the grace period has ended. `overdue`: the
   * deadline after the grace period has passed too. `next`: the next of these two times, in
   * milliseconds.
   */
  leaving: readonly Readonly<{ name: string; due: boolean; overdue: boolean; next: number }>[];
  /** How many selected clusters we do not serve, because status has no room for them. */
  cut: number;
}>;

type Asked = Readonly<{
  object: FleetSecret;
  /** Clusters that the inventories select. */
  selected: readonly string[];
  /**
   * Clusters that the command `fleet remove` is removing. The command deletes the Secrets there
   * itself.
   */
  released?: readonly string[];
  now: number;
}>;

/** Maximum number of clusters of one object, because status lists all of them. */
const mostClusters = 1000;

/**
 * The clusters of an object. A cluster that is in status but no longer selected is leaving: we
 * remove its Secret after the grace period, and might give the cluster up after the deadline. A
 * deleted object selects no clusters. We forget a released cluster at once. If status has no room
 * for all clusters, those already in status come first, because a cluster that we forget keeps the
 * Secret for ever.
 */
export function membersOf({ object, selected, released = [], now }: Asked): Members {
  const { metadata, spec, status } = object;
  const deleted = metadata.deletionTimestamp;
  const selectedNames = new Set(deleted === undefined ? selected : []);
  const clusters = status?.clusters ?? [];
  const former = new Set(clusters.map(({ name }) => name));
  const staying = [...former].filter((name) => selectedNames.has(name));
  const fresh = [...selectedNames].filter((name) => !former.has(name));
  const added = fresh.toSorted().slice(0, mostClusters - clusters.length);
  const grace = millisecondsOf(spec.removal?.grace ?? "5m");
  const deadline = millisecondsOf(spec.removal?.deadline ?? "1h");
  const deselected = clusters.filter(
    ({ name }) => !selectedNames.has(name) && !released.includes(name),
  );
  const leaving = deselected.map((cluster) => {
    const since = leavingSince(cluster, now);
    const [end, last] = [since + grace, since + grace + deadline];
    return {
      name: cluster.name,
      due: now >= end,
      overdue: now >= last,
      next: now < end ? end : last,
    };
  });
  return {
    served: [...staying, ...added].toSorted(),
    leaving: leaving.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    cut: fresh.length - added.length,
  };
}

const leavingSince = ({ state, since }: ClusterStatus, now: number): number =>
  state === "Leaving" ? Date.parse(since) : now;

/** The CRD allows only durations such as `5m`. */
const millisecondsOf = (duration: string): number => (secondsOf(duration) ?? 0) * 1000;
