/**
 * Records which process made something that outlives it, and checks whether that process still
 * lives.
 */
import { readFileSync } from "node:fs";

/** The kernel can reuse a pid. Pid and start time together are unique until a reboot. */
export type Owner = Readonly<{ pid: number; started: string }>;

export const thisProcess: Owner = { pid: process.pid, started: startTime(process.pid) ?? "" };

export function isAlive(owner: Owner): boolean {
  return startTime(owner.pid) === owner.started;
}

/**
 * The boot id, and the start of the process in clock ticks since boot (field 22 of /proc/PID/stat).
 * Undefined if there is no such process, or if it is a zombie.
 */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name, in brackets, can contain blanks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z") return undefined;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
