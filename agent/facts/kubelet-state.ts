/** The kubelet's state as one word, for the table of decisions. Pure. */
import type { Facts, UnitFact } from "./facts.ts";
import type { Journal } from "../journal/journal.ts";
import type { Unit } from "../systemd/unit.ts";

/**
 * unknown: nobody could tell, or nobody was asked · gone: systemd has no such unit · busy:
 * something is under way that ends by itself · down: no process, or one whose start or stop never
 * ends · other: it runs, but not the process that counts · silent: the process that counts runs,
 * healthz does not answer · answering: it does.
 *
 * The process that counts is one that was started after the file was in place; while it is watched,
 * that very one.
 */
export type State = "unknown" | "gone" | Seen;

/** States in which systemd has told all about the unit. */
export type Seen = "busy" | "down" | "other" | "silent" | "answering";

/**
 * A start or a stop that takes longer has failed. k3s ships TimeoutStartSec=0, with which systemd
 * waits for ever; by default both take 90 s at most, and 30 s are for ExecStartPre and a busy node.
 */
const busyFor = 210_000;

export function stateOf(
  facts: Facts,
  journal: Pick<Journal, "phase" | "owed" | "settling">,
): State {
  const { unit, healthy, steady } = facts;
  if (unit === undefined || !isWhole(unit)) return "unknown";
  if (unit.load !== "loaded") return "gone";
  if (isBusy(unit)) return steady.busy < busyFor ? "busy" : "down";
  if (!isRunning(unit)) return "down";
  if (!counts(unit, journal)) return "other";
  return healthy ? "answering" : "silent";
}

/** What systemd told of the unit; only where the state is a `Seen` one. */
export function unitOf({ unit }: Pick<Facts, "unit">): Unit | undefined {
  return unit !== undefined && isWhole(unit) ? unit : undefined;
}

/**
 * Names what is under way, if anything: as long as the name stays the same, it has not come
 * further.
 */
export function progress(unit: UnitFact | undefined): string | undefined {
  return unit !== undefined && isWhole(unit) && isBusy(unit)
    ? `${unit.active} ${unit.invocation}`
    : undefined;
}

/**
 * Neither running nor about to run by itself: an administrator, or the start limit, has stopped it.
 */
export function isStopped({ unit }: Pick<Facts, "unit">): boolean {
  return (
    unit !== undefined &&
    isWhole(unit) &&
    !isBusy(unit) &&
    ["inactive", "failed"].includes(unit.active)
  );
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
  // Without a record of who ran when the file was in place nobody can be believed to have been
  // started after it.
  return owed !== undefined && unit.invocation !== owed;
}

function isWhole(unit: UnitFact): unit is Unit {
  return "active" in unit;
}

export function isRunning({ active, mainPid }: Unit): boolean {
  return active === "active" && mainPid > 0;
}

/** The wait before an automatic restart is none of these: it may be cut short. */
function isBusy({ busy, active, sub }: Unit): boolean {
  if (sub.startsWith("auto-restart")) return false;
  return busy || ["activating", "deactivating", "reloading"].includes(active);
}
