/**
 * The rules of the Lease `global-pull-secret-controller`: only its holder writes. Pure. Clocks of
 * different machines are never compared: a holder counts from just before it sent its last renewal,
 * a standby from when it saw that renewal, which is later.
 */
import type { V1Lease } from "@kubernetes/client-node";
import { newborn } from "#kube/client/cluster.ts";
import { leaseName } from "#kube/client/ownership.ts";

/**
 * Times in seconds. A standby takes the place of a holder that is silent for 15 s; the holder
 * itself stops 5 s before that.
 */
export const lease = {
  duration: 15,
  /** A holder that has not renewed for this long ends. */
  deadline: 10,
  /**
   * Interval of renewals: two within the deadline, even if the first attempt hangs for all of
   * `answer`.
   */
  renew: 4,
  /** Pause after an attempt that failed. */
  retry: 1,
  /**
   * Interval of a standby's looks. 15 s and one look stay well under the 20 s that a crash may
   * cost.
   */
  look: 2,
  /** Time that an answer may take. */
  answer: 3,
} as const;

/** Most seconds that a Lease is honoured, however long another build's Lease claims to last. */
const longest = 60;

/**
 * The greatest count of transitions, an int32. A Lease that has it, by a restore or another's hand,
 * could be taken by nobody if one more were counted: the API server refuses that.
 */
const mostTransitions = 2 ** 31 - 1;

/** The Lease as the API server shows it. An empty `holder` means that nobody holds it. */
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
  const seconds = spec?.leaseDurationSeconds ?? lease.duration;
  return {
    holder: spec?.holderIdentity ?? "",
    renewed: String(spec?.renewTime ?? ""),
    seconds: Math.min(Math.max(seconds, 1), longest),
    acquired: spec?.acquireTime === undefined ? undefined : String(spec.acquireTime),
    transitions: spec?.leaseTransitions ?? 0,
    uid: metadata?.uid,
    version: metadata?.resourceVersion,
  };
}

/**
 * What a standby has observed: the last renewal, for how many seconds it has not changed, and when
 * it last looked.
 */
export type WatchedLease = Readonly<{ renewal: string; silent: number; at: number }>;

export type LeaseObservation = Readonly<{ watched: WatchedLease; take: boolean; again: number }>;

/**
 * One look of a standby at `now` (seconds of its own clock). It takes a Lease that is absent,
 * released, its own (a reply was lost), or silent for the whole duration. If the clock jumps or the
 * standby is suspended, at most two looks' time counts: silence that was not watched is no silence.
 */
export function watch(
  before: WatchedLease | undefined,
  found: FoundLease | undefined,
  me: string,
  now: number,
): LeaseObservation {
  const renewal =
    found === undefined ? "" : `${found.holder} ${found.transitions} ${found.renewed}`;
  const passed = Math.min(Math.max(0, now - (before?.at ?? now)), 2 * lease.look);
  const silent = before?.renewal === renewal ? before.silent + passed : 0;
  const watched = { renewal, silent, at: now };
  const free = found === undefined || found.holder === "" || found.holder === me;
  const left = found === undefined ? 0 : found.seconds - silent;
  return { watched, take: free || left <= 0, again: Math.min(lease.look, Math.max(left, 0.1)) };
}

/**
 * True while nobody else can have taken the Lease that was last renewed at `renewed`. A jump of the
 * clock counts in full.
 */
export function holds(renewed: number, now: number): boolean {
  return now - renewed < lease.deadline && now >= renewed;
}

/** What to do after a renewal was refused because the Lease is not as we left it. */
export function afterConflict(found: FoundLease | undefined, me: string): "renew" | "end" {
  return found === undefined || found.holder === "" || found.holder === me ? "renew" : "end";
}

/**
 * The Lease held by `holder` (empty: nobody), as a change of `found`. Without one, it may only be
 * created.
 */
export function heldBy(
  holder: string,
  found: FoundLease | undefined,
  now: Date,
  name: string = leaseName,
): V1Lease {
  const stamp = now.toISOString().replace("Z", "000Z"); // microseconds, as the API demands
  const changes = holder !== "" && found?.holder !== holder;
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: lease.duration,
    acquireTime: changes ? stamp : (found?.acquired ?? stamp),
    renewTime: stamp,
    leaseTransitions: Math.min((found?.transitions ?? 0) + (changes ? 1 : 0), mostTransitions),
  };
  const version =
    found === undefined
      ? { resourceVersion: newborn }
      : { uid: found.uid, resourceVersion: found.version };
  const metadata = { name, ...version };
  // Times are text on the wire, whatever the client's types say.
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata,
    spec,
  } as unknown as V1Lease;
}
