/** The clusters of an object: those that are selected, and those that are leaving. Pure. */
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { codeOf } from "./problems.ts";

export type Members = Readonly<{
  /** Selected clusters, sorted. */
  served: readonly string[];
  /**
   * Clusters that are no longer selected, sorted. `due`: the grace period has ended. `overdue`: the
   * deadline after it has passed too. `next`: the next of these two times, in milliseconds.
   */
  leaving: readonly Readonly<{ name: string; due: boolean; overdue: boolean; next: number }>[];
  /** How many selected clusters are not served, because status has no room for them. */
  cut: number;
}>;

type Asked = Readonly<{
  object: FleetSecret;
  /** Clusters that the inventories select. */
  selected: readonly string[];
  /** Clusters that `clusters remove` is removing. The command deletes the copies there. */
  released?: readonly string[];
  now: number;
}>;

/** Maximum number of clusters of one object, because status must hold them. */
export const mostClusters = 1000;

/**
 * The clusters of an object. A cluster that is in status and no longer selected leaves when the
 * grace period ends. We give it up when the deadline has also passed. A deleted object selects
 * nothing. A released cluster is forgotten at once. If there is no room for all, clusters in status
 * come first, because a forgotten cluster would keep the Secret for ever.
 */
export function membersOf({ object, selected, released = [], now }: Asked): Members {
  const { metadata, spec, status } = object;
  const deleted = metadata.deletionTimestamp;
  const wanted = new Set(deleted === undefined ? selected : []);
  const known = status?.clusters ?? [];
  const former = new Set(known.map(({ name }) => name));
  const kept = [...former].filter((name) => wanted.has(name));
  const fresh = [...wanted].filter((name) => !former.has(name));
  const added = fresh.toSorted().slice(0, mostClusters - known.length);
  const grace = secondsOf(spec.removal?.grace ?? "5m") * 1000;
  const deadline = secondsOf(spec.removal?.deadline ?? "1h") * 1000;
  const left = known.filter(({ name }) => !wanted.has(name) && !released.includes(name));
  const leaving = left.map((one) => {
    const since = leavingSince(one, now);
    const [end, last] = [since + grace, since + grace + deadline];
    return { name: one.name, due: now >= end, overdue: now >= last, next: now < end ? end : last };
  });
  return {
    served: [...kept, ...added].toSorted(),
    leaving: leaving.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    cut: fresh.length - added.length,
  };
}

const leavingSince = ({ state, since }: ClusterStatus, now: number): number =>
  state === "Leaving" ? Date.parse(since) : now;

/** Seconds of a duration. The CRD allows no other format. */
export function secondsOf(text: string): number {
  const [, number = "0", unit = "s"] = /^(\d+)([smh])$/.exec(text) ?? [];
  return Number(number) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 1);
}

/** Other objects with the same target, which may select the same cluster. */
export type Rivals = Readonly<{
  /** Cluster → the older object that keeps it. */
  claims: ReadonlyMap<string, FleetSecret>;
  /** Cluster → another object that leaves the cluster and offers its Secret there. */
  offers: ReadonlyMap<string, FleetSecret>;
  /** Cluster → another object that selects the cluster, and takes over a Secret offered there. */
  heirs: ReadonlyMap<string, FleetSecret>;
  older: readonly FleetSecret[];
  younger: readonly FleetSecret[];
}>;

/**
 * The rivals of an object. Two objects with the same target conflict only in clusters that both
 * select. The older object serves such a cluster if its status names the cluster. An object that
 * leaves a cluster offers its Secret there to another object that selects the cluster.
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
  const named = (by: readonly FleetSecret[], isMeant: (one: ClusterStatus) => boolean) =>
    new Map(
      by
        .toReversed()
        .flatMap((other) =>
          (other.status?.clusters ?? []).filter(isMeant).map(({ name }) => [name, other] as const),
        ),
    );
  // With another transport the copy is in another place, so no object takes it over.
  const alike = rivals.filter(
    ({ spec }) => (spec.via ?? "Direct") === (object.spec.via ?? "Direct"),
  );
  const staying = alike.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return {
    claims: named(older, (one) => !isOffered(one)),
    offers: named(alike, isOffered),
    heirs: named(staying, ({ state }) => state !== "Leaving"),
    older,
    younger: rivals.slice(older.length),
  };
}

const isOffered = ({ state, reason = "" }: ClusterStatus): boolean =>
  state === "Leaving" && reason.startsWith(codeOf("offered"));
