/**
 * When an absent Secret counts as withdrawn, for each source separately. Pure. A Secret that is
 * deleted and created again (`kubectl replace --force`, an owner that recreates it, a type that had
 * to be changed) is one change. Without a grace period each node would lose its credentials and get
 * them back, with two kubelet restarts.
 */
import { withdrawNowAnnotation } from "#contract/names.ts";
import { isForeign, type Snapshot } from "#controller/sources/snapshot.ts";
import type { Policy } from "../policy/policy.ts";
import type { Requests } from "#controller/policy/policy-in-force.ts";
import { readPublished } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import type { SourceInput } from "#controller/sources/input.ts";
import { lastGood } from "../sources/source.ts";

export type Absence = Readonly<{
  /** When it was first seen to be absent, as far as that is remembered. */
  since: Date | undefined;
  now: Date;
  graceSeconds: number;
  /** Entries are being taken back already, or nothing is there to take back. */
  begun: boolean;
  /** Somebody asked for haste. */
  immediate: boolean;
}>;

/** `since` must be remembered, so that the grace ends in a later run too. */
export type Withdrawal = Readonly<{ since: Date; begins: Date; due: boolean }>;

/**
 * A clock that was set back does not lengthen the grace: a time in the future is read as now.
 */
export function withdrawal({ since, now, graceSeconds, begun, immediate }: Absence): Withdrawal {
  const grace = graceSeconds * 1000;
  const seen = Math.min(since?.getTime() ?? now.getTime(), now.getTime());
  const first = immediate ? Math.min(seen, now.getTime() - grace) : seen;
  const begins = new Date(first + grace);
  return { since: new Date(first), begins, due: begun || begins.getTime() <= now.getTime() };
}

type Setting = Readonly<{
  now: () => Date;
  policy: Pick<Policy, "withdrawal" | "managementState">;
  requests: Pick<Requests, "withdrawNow">;
}>;

/**
 * What the snapshot tells of a source's absence. Haste is asked for on GlobalPullSecret or on
 * global-pull-secret, after a leak. A withdrawal by spec is always hasty: it is no accident.
 */
export function absenceOf(
  id: string,
  { global, state, daemonSet }: Snapshot,
  { now, policy, requests }: Setting,
): Absence {
  const nothingGiven = global === undefined && daemonSet === undefined;
  return {
    since: readState(state).absentSince.get(id),
    now: now(),
    graceSeconds: policy.withdrawal.graceSeconds,
    // Without our own note of it the grace would never end.
    begun: nothingGiven || readPublished(global)?.intent === "release" || isForeign(state),
    immediate:
      policy.managementState === "Withdrawn" ||
      requests.withdrawNow ||
      global?.metadata?.annotations?.[withdrawNowAnnotation] === "true",
  };
}

/**
 * Id → withdrawal, for each absent source: always for the additional; for an extra only while it
 * has entries to lose, or had them until its grace was over.
 */
export function withdrawals(
  inputs: readonly SourceInput[],
  snapshot: Snapshot,
  setting: Setting,
): ReadonlyMap<string, Withdrawal> {
  const state = readState(snapshot.state);
  const known = { published: readPublished(snapshot.global), state };
  const hadEntries = (id: string) =>
    state.absentSince.has(id) || lastGood(known, id, "additional") !== undefined;
  const loses = ({ applies, id, found }: SourceInput) =>
    found === "absent" &&
    (applies === "whilePresent" || (applies === "onceAccepted" && hadEntries(id)));
  return new Map(
    inputs
      .filter(loses)
      .map(({ id }) => [id, withdrawal(absenceOf(id, snapshot, setting))] as const),
  );
}

/** The sources, keeping those whose grace is not over or that a pause holds. */
export function keptOf(
  inputs: readonly SourceInput[],
  absences: ReadonlyMap<string, Withdrawal>,
  held = false,
): readonly SourceInput[] {
  return inputs.map((one) => {
    const absence = absences.get(one.id);
    if (absence === undefined || (absence.due && !held) || one.applies === "never") return one;
    return { ...one, found: "kept", until: absence.begins };
  });
}

/** Since when each source has been absent, as the state remembers it. */
export const sincesOf = (absences: ReadonlyMap<string, Withdrawal>) =>
  new Map([...absences].map(([id, { since }]) => [id, since] as const));
