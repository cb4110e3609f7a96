/** The kubelet's process as one word for the table in decide/phases.ts. Pure. */
import { slowSeconds } from "#contract/times.ts";
import type { Facts, UnitFact } from "./facts.ts";
import type { Journal } from "../journal/journal.ts";
import type { Unit } from "../systemd/unit.ts";
import { fast, soon, type Step, wait, codes } from "./step.ts";

/**
 * unknown: systemd did not report a loaded unit · dead: no process, and only a request starts one ·
 * auto-restart: systemd will start one by itself · old: the process that ran when the file was put
 * in place · starting: a start, stop or job is under way, or a process runs that does not work yet
 * · up: it works: it answers, or nobody of root listens at healthz and it has run for four minutes.
 */
export type ProcessState = "unknown" | "dead" | "auto-restart" | "old" | "starting" | "up";

export function stateOf(facts: Facts, journal: Journal): ProcessState {
  const unit = unitOf(facts);
  if (unit === undefined) return "unknown";
  if (unit.sub.startsWith("auto-restart")) return "auto-restart";
  if (isBusy(unit)) return "starting";
  if (!isRunning(unit)) return "dead";
  if (journal.phase === "restarting" && unit.invocation === journal.old) return "old";
  return isUp(facts, unit) ? "up" : "starting";
}

function isUp({ kubelet, time }: Facts, unit: Unit): boolean {
  const healthz = kubelet?.healthz;
  if (healthz === "answers" || healthz === "silent") return healthz === "answers";
  return time.monotonic - unit.started >= slowSeconds * 1000;
}

/** The loaded unit; undefined if systemd has not reported it. */
export function unitOf({ kubelet }: Pick<Facts, "kubelet">): Unit | undefined {
  const unit = kubelet?.unit;
  return unit !== undefined && "active" in unit && unit.load === "loaded" ? unit : undefined;
}

export function isRunning({ active, mainPid }: Unit): boolean {
  return active === "active" && mainPid > 0;
}

/** Whether a start, stop or job is under way. It ends by itself, however long it takes. */
function isBusy({ busy, active }: Unit): boolean {
  return busy || ["activating", "deactivating", "reloading"].includes(active);
}

/** Why there is no unit to restart; undefined if there is one. */
export function unitMissing(unit: UnitFact | undefined): Step | undefined {
  if (unit === undefined || "notAsked" in unit) return wait(codes.systemdUnknown, fast);
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
