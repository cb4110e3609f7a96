/**
 * The rules of a Lease: only its holder writes. Pure. Clocks of different machines are never
 * compared. A holder counts the Lease's duration from the time before it sent its last renewal. A
 * standby counts from the time when it saw that renewal, which is later.
 */
import type { V1Lease } from "@kubernetes/client-node";
import { newborn } from "#kube/client/cluster.ts";

/**
 * Times in seconds. A standby replaces a holder that is silent for 15 s; the holder itself stops 5
 * s before that.
 */
export const lease = {
  duration: 15,
  /** A holder ends if it has not renewed the Lease for this long. */
  deadline: 10,
  /**
   * Interval of renewals. It allows two attempts within the deadline, even if the first attempt
   * hangs for the whole of `answer`.
   */
  renew: 4,
  /** Pause after an attempt that failed. */
  retry: 1,
  /**
   * Interval of a standby's checks. 15 s plus one interval are well below 20 s, the longest time
   * that a crash is allowed to cost.
   */
  look: 2,
  /** Time that an answer may take. */
  answer: 3,
} as const;

/** Maximum seconds that we honour a Lease, even if another build wrote a longer duration. */
const longest = 60;

/**
 * The greatest count of transitions, an int32. A Lease can have this count after a restore or an
 * edit. The API server refuses a higher count, so without this limit nobody could take that Lease
 * again.
 */
const mostTransitions = 2 ** 31 - 1;

/** The Lease as the API server returns it. An empty `holder` means that the Lease is free. */
export type FoundLease = Readonly<{
  holder: string;
  renewed: string;
  seconds: number;
  acquired: string | undefined;
  transitions: number;
  uid: string | undefined;
  version: string | undefined;
}>;

export function readLease({ metadata, spec }: V1Lease): FoundLease {
  return {
    holder: spec?.holderIdentity ?? "",
    renewed: String(spec?.renewTime ?? ""),
    seconds: Math.min(spec?.leaseDurationSeconds ?? lease.duration, longest),
    acquired: spec?.acquireTime === undefined ? undefined : String(spec.acquireTime),
    transitions: spec?.leaseTransitions ?? 0,
    uid: metadata?.uid,
    version: metadata?.resourceVersion,
  };
}

/**
 * A standby's observations: the last renewal, for how many seconds it has not changed, and when
 * the standby last checked.
 */
export type WatchedLease = Readonly<{ renewal: string; silent: number; at: number }>;

export type LeaseObservation = Readonly<{ watched: WatchedLease; take: boolean; again: number }>;

/**
 * One check of a standby at `now` (seconds of its own clock). The standby takes a Lease that is
 * absent or free, that is its own (because a reply was lost), or that was not renewed for its whole
 * duration. If the clock jumps or the standby is suspended, at most two intervals count, because we
 * did not watch the Lease for the rest of that time.
 */
export function watch(
  before: WatchedLease | undefined,
  liveLease: FoundLease | undefined,
  me: string,
  now: number,
): LeaseObservation {
  const renewal =
    liveLease === undefined
      ? ""
      : `${liveLease.holder} ${liveLease.transitions} ${liveLease.renewed}`;
  const passed = Math.min(Math.max(0, now - (before?.at ?? now)), 2 * lease.look);
  const silent = before?.renewal === renewal ? before.silent + passed : 0;
  const watched = { renewal, silent, at: now };
  const free = liveLease === undefined || liveLease.holder === "" || liveLease.holder === me;
  const remaining = liveLease === undefined ? 0 : liveLease.seconds - silent;
  return {
    watched,
    take: free || remaining <= 0,
    again: Math.min(lease.look, Math.max(remaining, 0.1)),
  };
}

/**
 * True while no other process can have taken the Lease that was last renewed at `renewed`. If the
 * clock jumps ahead, the whole jump counts as time without a renewal.
 */
export function holds(renewed: number, now: number): boolean {
  return now - renewed < lease.deadline && now >= renewed;
}

/** The next step after a renewal was refused because the Lease has changed since our last write. */
export function afterConflict(liveLease: FoundLease | undefined, me: string): "renew" | "end" {
  return liveLease === undefined || liveLease.holder === "" || liveLease.holder === me
    ? "renew"
    : "end";
}

/**
 * The Lease to write: `liveLease` with this `holder` (empty: the Lease becomes free). Without
 * `liveLease`, the write can only create the Lease.
 */
export function heldBy(
  holder: string,
  liveLease: FoundLease | undefined,
  now: Date,
  name: string,
): V1Lease {
  const stamp = now.toISOString().replace("Z", "000Z"); // microseconds, as the API requires
  const changes = holder !== "" && liveLease?.holder !== holder;
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: lease.duration,
    acquireTime: changes ? stamp : (liveLease?.acquired ?? stamp),
    renewTime: stamp,
    leaseTransitions: Math.min((liveLease?.transitions ?? 0) + (changes ? 1 : 0), mostTransitions),
  };
  const version =
    liveLease === undefined
      ? { resourceVersion: newborn }
      : { uid: liveLease.uid, resourceVersion: liveLease.version };
  const metadata = { name, ...version };
  // On the wire, times are text, although the client's types declare a Date.
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata,
    spec,
  } as unknown as V1Lease;
}
