/**
 * Decides, for each source, when an absent Secret counts as withdrawn. Pure. Deleting and
 * recreating a Secret counts as one change (`kubectl replace --force`, an owner that recreates it,
 * a new type). Without a grace period, each node would lose its credentials and get them again,
 * with two kubelet restarts. A Secret that loses most of its registries waits as long, because a
 * tool or a template might have emptied it by mistake.
 */
import { withdrawNowAnnotation } from "#contract/names.ts";
import { isForeign, type Snapshot } from "#controller/sources/snapshot.ts";
import type { Policy } from "../policy/policy.ts";
import type { Requests } from "#controller/policy/policy-in-force.ts";
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
  /** The grace period must be skipped. */
  immediate: boolean;
  /** The entries stay until someone requests their removal. */
  isKept: boolean;
  /** The registries that the present Secret has lost. Empty: the Secret is absent. */
  lost: readonly string[];
}>;

/**
 * A `since` in the future counts as now, so that a clock that was set back does not extend the
 * grace period.
 */
export function withdrawal(absence: Absence): Withdrawal {
  const { since, now, graceSeconds, begun, immediate, isKept, lost } = absence;
  const grace = graceSeconds * 1000;
  const seen = Math.min(since?.getTime() ?? now.getTime(), now.getTime());
  const first = immediate ? Math.min(seen, now.getTime() - grace) : seen;
  const begins = isKept && !begun && !immediate ? undefined : new Date(first + grace);
  const isOver = begins !== undefined && begins.getTime() <= now.getTime();
  return { since: new Date(first), begins, due: begun || isOver, lost };
}

type Setting = Readonly<{
  now: () => Date;
  policy: Pick<Policy, "withdrawal" | "managementState">;
  requests: Pick<Requests, "withdrawNow">;
}>;

/**
 * The absence of one source, from the snapshot. After a leak, an annotation on GlobalPullSecret or
 * on global-pull-secret skips the grace period. A withdrawal by spec is not an accident, so it
 * always skips the grace period.
 */
export function absenceOf(
  id: string,
  { global, state, daemonSet }: Snapshot,
  { now, policy, requests }: Setting,
  lost: readonly string[] = [],
): Absence {
  const nothingGiven = global === undefined && daemonSet === undefined;
  return {
    since: readState(state).absentSince.get(id),
    now: now(),
    graceSeconds: policy.withdrawal.graceSeconds,
    // If we do not own the state Secret, we cannot record `since`, and the grace period would never
    // end.
    begun: nothingGiven || readPublished(global)?.intent === "release" || isForeign(state),
    immediate:
      policy.managementState === "Withdrawn" ||
      requests.withdrawNow ||
      global?.metadata?.annotations?.[withdrawNowAnnotation] === "true",
    isKept: policy.withdrawal.onDelete === "Keep" && lost.length === 0,
    lost,
  };
}

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

/** For the state: source id → when the controller first found its Secret missing. */
export const sincesOf = (absences: ReadonlyMap<string, Withdrawal>) =>
  new Map([...absences].map(([id, { since }]) => [id, since] as const));
