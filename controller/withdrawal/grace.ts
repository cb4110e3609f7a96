/**
 * When an absent Secret is taken for withdrawn, each source for itself. Pure. What is deleted and
 * made anew (`kubectl replace --force`, an owner that recreates it, a type that had to be changed)
 * is one change; without a grace it took credentials from nodes and gave them back, two kubelet
 * restarts each.
 */
import { withdrawNowAnnotation } from "#contract/names.ts";
import { isForeign, type Snapshot } from "../sources/snapshot.ts";
import type { Policy } from "../policy/policy.ts";
import type { Wishes } from "../policy/in-force.ts";
import { readPublished } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import type { Given } from "../sources/given.ts";
import { lastGood } from "../sources/source.ts";

export type Absence = Readonly<{
  /** When it was first seen to be absent, as far as that is remembered. */
  since: Date | undefined;
  now: Date;
  graceSeconds: number;
  /** Entries are being taken back already, or nothing is there to take back. */
  begun: boolean;
  /** Somebody asked for haste. */
  haste: boolean;
}>;

/** `since` is to be remembered: it ends the grace for a later run too. */
export type Withdrawal = Readonly<{ since: Date; begins: Date; due: boolean }>;

/**
 * A clock that was set back does not make the grace longer: what lies in the future was seen now.
 */
export function withdrawal({ since, now, graceSeconds, begun, haste }: Absence): Withdrawal {
  const grace = graceSeconds * 1000;
  const seen = Math.min(since?.getTime() ?? now.getTime(), now.getTime());
  const first = haste ? Math.min(seen, now.getTime() - grace) : seen;
  const begins = new Date(first + grace);
  return { since: new Date(first), begins, due: begun || begins.getTime() <= now.getTime() };
}

type Setting = Readonly<{
  now: () => Date;
  policy: Pick<Policy, "withdrawal" | "managementState">;
  wishes: Pick<Wishes, "withdrawNow">;
}>;

/**
 * What the snapshot tells of the absence of a source. Haste is asked for on GlobalPullSecret or on
 * global-pull-secret, when the credential leaked; nobody withdraws by spec who means to undo it.
 */
export function absenceOf(
  id: string,
  { global, state, daemonSet }: Snapshot,
  { now, policy, wishes }: Setting,
): Absence {
  const nothingGiven = global === undefined && daemonSet === undefined;
  return {
    since: readState(state).absentSince.get(id),
    now: now(),
    graceSeconds: policy.withdrawal.graceSeconds,
    // Without a memory of our own no grace would ever end.
    begun: nothingGiven || readPublished(global)?.intent === "release" || isForeign(state),
    haste:
      policy.managementState === "Withdrawn" ||
      wishes.withdrawNow ||
      global?.metadata?.annotations?.[withdrawNowAnnotation] === "true",
  };
}

/**
 * Id → withdrawal of each source that is absent: of the additional always, of an extra where it
 * has something to lose, or had until its grace was over.
 */
export function withdrawals(
  given: readonly Given[],
  snapshot: Snapshot,
  setting: Setting,
): ReadonlyMap<string, Withdrawal> {
  const state = readState(snapshot.state);
  const known = { published: readPublished(snapshot.global), state };
  const loses = ({ kind, id, found }: Given) =>
    found === "absent" &&
    (kind === "additional" ||
      (kind === "extra" &&
        (state.absentSince.has(id) || lastGood(known, id, "additional") !== undefined)));
  return new Map(
    given
      .filter(loses)
      .map(({ id }) => [id, withdrawal(absenceOf(id, snapshot, setting))] as const),
  );
}

/** The sources with those kept whose grace is not over, or that a pause holds. */
export function keptOf(
  given: readonly Given[],
  absences: ReadonlyMap<string, Withdrawal>,
  held = false,
): readonly Given[] {
  return given.map((one) => {
    const absence = absences.get(one.id);
    if (absence === undefined || (absence.due && !held) || one.kind === "original") return one;
    return { ...one, found: "kept", until: absence.begins };
  });
}
