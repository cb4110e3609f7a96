/**
 * Decides, for each source, when an absent Secret counts as withdrawn. Pure. Deleting and
 * recreating a Secret counts as one change (`kubectl replace --force`, an owner that recreates it,
 * a new type). Without a grace period, each node would lose its credentials and get them again,
 * with two kubelet restarts. A Secret that loses most of its registries waits as long, because a
 * tool or a template might have emptied it by mistake.
 */
import { isForeign, type Snapshot } from "#controller/sources/snapshot.ts";
import type { Policy } from "../policy/policy.ts";
import { readPublished } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import type { SourceInput, Withdrawal } from "#controller/sources/input.ts";
import { lastGood, mostlyLost, type Remembered } from "../sources/source.ts";

export type Absence = Readonly<{
  /** When the controller first found the Secret missing, if the state records this time. */
  since: Date | undefined;
  now: Date;
  graceSeconds: number;
  /** The entries are already being removed, or there is nothing to remove. */
  begun: boolean;
  /** The policy keeps the entries. */
  isKept: boolean;
  /** The registries that the present Secret has lost. Empty: the Secret is absent. */
  lost: readonly string[];
}>;

/**
 * A `since` in the future counts as now, so that a clock that was set back does not extend the
 * grace period.
 */
export function withdrawal(absence: Absence): Withdrawal {
  const { since, now, graceSeconds, begun, isKept, lost } = absence;
  const first = Math.min(since?.getTime() ?? now.getTime(), now.getTime());
  const begins = isKept && !begun ? undefined : new Date(first + graceSeconds * 1000);
  const isOver = begins !== undefined && begins.getTime() <= now.getTime();
  return { since: new Date(first), begins, due: begun || isOver, lost };
}

type Setting = Readonly<{
  now: () => Date;
  policy: Pick<Policy, "withdrawal">;
}>;

/** The absence of one source, from the snapshot. */
export function absenceOf(
  id: string,
  { global, state, daemonSet }: Snapshot,
  { now, policy }: Setting,
  lost: readonly string[] = [],
): Absence {
  const nothingGiven = global === undefined && daemonSet === undefined;
  return {
    since: readState(state).absentSince.get(recordOf(id, lost)),
    now: now(),
    // If we do not own the state Secret, we cannot record `since`, and the grace period would never
    // end.
    graceSeconds: isForeign(state) ? 0 : policy.withdrawal.graceSeconds,
    begun: nothingGiven || readPublished(global)?.intent === "release",
    isKept: policy.withdrawal.onDelete === "Keep" && lost.length === 0,
    lost,
  };
}

/**
 * The name of the record in the state. A Secret that lost registries has another record than an
 * absent one, so that it gets a whole grace period after it was created again.
 */
const recordOf = (id: string, lost: readonly string[]): string =>
  // No source has an underscore in its name.
  lost.length === 0 ? id : `${id}_lost`;

/**
 * Source id → withdrawal, for each source that is absent or has lost most of its registries. The
 * absent additional Secret is always included. An absent extra source is included only if it has
 * entries, or had entries until its grace period ended.
 */
export function withdrawals(
  inputs: readonly SourceInput[],
  snapshot: Snapshot,
  setting: Setting,
): ReadonlyMap<string, Withdrawal> {
  const state = readState(snapshot.state);
  const remembered: Remembered = { published: readPublished(snapshot.global), state };
  const hadEntries = (id: string) =>
    state.absentSince.has(id) || lastGood(remembered, id, "additional") !== undefined;
  const isGone = ({ applies, id, lookup }: SourceInput) =>
    lookup === "absent" &&
    (applies === "whilePresent" || (applies === "onceAccepted" && hadEntries(id)));
  return new Map(
    inputs.flatMap((input) => {
      const lost = input.applies === "never" ? [] : mostlyLost(input, remembered);
      if (lost.length === 0 && !isGone(input)) return [];
      return [[input.id, withdrawal(absenceOf(input.id, snapshot, setting, lost))] as const];
    }),
  );
}

/**
 * Returns the sources. A source that is absent or has lost registries is marked as `kept` if its
 * grace period has not ended, or if a pause delays the change.
 */
export function keptOf(
  inputs: readonly SourceInput[],
  absences: ReadonlyMap<string, Withdrawal>,
  held = false,
): readonly SourceInput[] {
  return inputs.map((input) => {
    const absence = absences.get(input.id);
    if (absence === undefined || (absence.due && !held) || input.applies === "never") return input;
    return { ...input, lookup: "kept", until: absence.begins, lost: absence.lost };
  });
}

/**
 * For the state: record → when the controller first found the Secret missing, or without its
 * registries. Entries that are kept have no record, so that they get a whole grace period if the
 * policy keeps them no more.
 */
export const sincesOf = (absences: ReadonlyMap<string, Withdrawal>) =>
  new Map(
    [...absences].flatMap(([id, { since, begins, lost }]) =>
      begins === undefined ? [] : [[recordOf(id, lost), since] as const],
    ),
  );
