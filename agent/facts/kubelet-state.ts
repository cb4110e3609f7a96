/** The kubelet's unit, and its state as one word for the table in decide/restart.ts. Pure. */
import type { Facts, UnitFact } from "./facts.ts";
import type { Journal, JournalReading } from "../journal/journal.ts";
import type { Unit } from "../systemd/unit.ts";
import { fast, soon, type Step, wait, codes } from "./step.ts";
import { auto } from "#contract/values.ts";

/**
 * unknown: systemd did not answer, or was not asked · gone: systemd has no such unit · busy: a
 * start, stop or job is under way and will end by itself · down: no process, or a start or stop
 * that never ends · other: a process runs, but not the process that counts · silent: the process
 * that counts runs, but healthz does not answer · answering: healthz answers.
 *
 * The process that counts was started after the file was in place. During probation it is exactly
 * the watched process.
 */
export type KubeletState = "unknown" | "gone" | KnownState;

/** States of a loaded unit whose properties systemd has reported. */
export type KnownState = "busy" | "down" | "other" | "silent" | "answering";

/**
 * Milliseconds after which a start or stop counts as failed. systemd's own limit is not reliable:
 * k3s sets TimeoutStartSec=0, which means no limit. By default, start and stop take at most 90 s
 * each; 30 s are for ExecStartPre and a busy node.
 */
const busyFor = 210_000;

export function stateOf(
  facts: Facts,
  journal: Pick<Journal, "phase" | "owed" | "settling">,
): KubeletState {
  const { unit, healthy, stopwatch } = facts;
  if (unit === undefined || !isWhole(unit)) return "unknown";
  if (unit.load !== "loaded") return "gone";
  if (isBusy(unit)) return stopwatch.busy < busyFor ? "busy" : "down";
  if (!isRunning(unit)) return "down";
  if (!counts(unit, journal)) return "other";
  return healthy ? "answering" : "silent";
}

/** The unit; undefined if systemd has not reported its properties. */
export function unitOf({ unit }: Pick<Facts, "unit">): Unit | undefined {
  return unit !== undefined && isWhole(unit) ? unit : undefined;
}

/** Whether systemd cannot report the unit: systemd cannot be reached, or has no such unit. */
export function isOutOfReach(facts: Pick<Facts, "unit">): boolean {
  return unitOf(facts)?.load !== "loaded";
}

/** Names the start, stop or job under way. While the name stays the same, there is no progress. */
export function progress(unit: UnitFact | undefined): string | undefined {
  return unit !== undefined && isWhole(unit) && isBusy(unit)
    ? `${unit.active} ${unit.invocation}`
    : undefined;
}

/** Whether systemd is about to restart the unit by itself, after whatever delay. */
export function isRestartedBySystemd({ sub }: Unit): boolean {
  return sub.startsWith("auto-restart");
}

function counts(
  unit: Unit,
  { phase, owed, settling }: Pick<Journal, "phase" | "owed" | "settling">,
): boolean {
  if (phase === "settling")
    return (
      settling !== undefined &&
      unit.invocation === settling.invocation &&
      unit.restarts <= settling.restarts
    );
  // `owed` is the process that ran when the file was put in place. If `owed` is unknown, no process
  // counts.
  return owed !== undefined && unit.invocation !== owed;
}

function isWhole(unit: UnitFact): unit is Unit {
  return "active" in unit;
}

export function isRunning({ active, mainPid }: Unit): boolean {
  return active === "active" && mainPid > 0;
}

/**
 * Whether a start, stop or job is under way. Waiting for an automatic restart does not count,
 * because a requested start ends that wait.
 */
function isBusy(unit: Unit): boolean {
  if (isRestartedBySystemd(unit)) return false;
  const { busy, active } = unit;
  return busy || ["activating", "deactivating", "reloading"].includes(active);
}

/** Why there is no unit to restart; undefined if there is one. */
export function unitMissing({ unit }: Facts): Step | undefined {
  if (unit === undefined) return wait(codes.systemdUnknown, fast);
  if ("notAsked" in unit) return wait(codes.systemdUnknown, fast);
  if ("unknown" in unit)
    return wait(
      unit.absent ? codes.noSystemd : unit.outdated ? codes.systemdTooOld : codes.systemdUnknown,
      "back off",
      unit.unknown,
    );
  if ("unfound" in unit) return wait(codes.unitUnfound, soon, unit.unfound);
  if (unit.load !== "loaded") return wait(codes.noUnit, "back off", `${unit.name}: ${unit.load}`);
  return undefined;
}

/** The unit that a flag names, otherwise the unit in the journal, even if that unit is down. */
export function namedUnit(flag: string, reading: JournalReading): string | undefined {
  if (flag !== auto) return flag;
  if (reading.kind === "journal") return reading.journal.unit;
  return reading.kind === "newer" ? reading.unit : undefined;
}

/** The unit that the journal records at the beginning of a change. */
export function unitRecord({ unit }: Pick<Facts, "unit">): Pick<Journal, "unit"> {
  return unit !== undefined && "name" in unit ? { unit: unit.name } : {};
}

/**
 * The journal of a change under way, continued with this unit. If a flag now names another unit,
 * observations of the old unit are dropped. If a journal has no unit, the unit that was found is
 * used.
 */
export function withUnit(journal: Journal, unit: Facts["unit"]): Journal {
  if (
    journal.phase === "applied" ||
    unit === undefined ||
    !("name" in unit) ||
    unit.load !== "loaded"
  )
    return journal;
  const { name, invocation } = unit;
  if (journal.unit === name) return journal;
  if (journal.unit === undefined) return { ...journal, unit: name };
  const { settling: _settling, owed: _owed, denied: _denied, ...rest } = journal;
  const next = { ...rest, unit: name, tried: 0, called: false };
  if (journal.phase === "applying")
    return { ...next, matters: journal.matters || journal.owed !== undefined };
  if (journal.phase === "restoring") return next;
  return {
    ...next,
    phase: journal.phase === "reviving" ? "reviving" : "restarting",
    owed: invocation,
  };
}
