/** The selected and the leaving clusters of a FleetSecret. Pure. */
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { codeOf } from "./problems.ts";

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
  const grace = secondsOf(spec.removal?.grace ?? "5m") * 1000;
  const deadline = secondsOf(spec.removal?.deadline ?? "1h") * 1000;
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

/** The seconds of a duration such as `5m`. The CRD allows only this format. */
export function secondsOf(text: string): number {
  const [, number = "0", unit = "s"] = /^(\d+)([smh])$/.exec(text) ?? [];
  return Number(number) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 1);
}

/** Other FleetSecrets with the same target. They might select the same clusters. */
export type Rivals = Readonly<{
  /** Cluster → the older object that serves the cluster. */
  claims: ReadonlyMap<string, FleetSecret>;
  /** Cluster → another object that is leaving the cluster and offers its Secret there. */
  offers: ReadonlyMap<string, FleetSecret>;
  /**
   * Cluster → another object that selects the cluster, and takes over the Secret that we offer
   * there.
   */
  heirs: ReadonlyMap<string, FleetSecret>;
  older: readonly FleetSecret[];
  younger: readonly FleetSecret[];
}>;

/**
 * The rivals of an object. Two objects with the same target conflict only in clusters that both
 * objects select. The older object serves such a cluster if the older object's status names the
 * cluster. An object that is leaving a cluster offers its Secret there to another object that
 * selects the cluster.
 */
export function rivalsOf(object: FleetSecret, all: readonly FleetSecret[]): Rivals {
  const place = ({ spec }: FleetSecret) =>
    `${spec.target.namespace ?? "kube-system"}/${spec.target.name}`;
  const age = ({ metadata }: FleetSecret) =>
    `${new Date(metadata.creationTimestamp ?? 0).toISOString()} ${metadata.uid}`;
  const rivals = all
    .filter((other) => place(other) === place(object) && age(other) !== age(object))
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
  const older = rivals.filter((other) => age(other) < age(object));
  const named = (by: readonly FleetSecret[], isMeant: (cluster: ClusterStatus) => boolean) =>
    new Map(
      by
        .toReversed()
        .flatMap((other) =>
          (other.status?.clusters ?? []).filter(isMeant).map(({ name }) => [name, other] as const),
        ),
    );
  // An object with another transport places its Secret elsewhere, so it cannot take over our
  // Secret.
  const alike = rivals.filter(
    ({ spec }) => (spec.via ?? "Direct") === (object.spec.via ?? "Direct"),
  );
  const staying = alike.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return {
    claims: named(older, (cluster) => !isOffered(cluster)),
    offers: named(alike, isOffered),
    heirs: named(staying, ({ state }) => state !== "Leaving"),
    older,
    younger: rivals.slice(older.length),
  };
}

const isOffered = ({ state, reason = "" }: ClusterStatus): boolean =>
  state === "Leaving" && reason.startsWith(codeOf("offered"));
