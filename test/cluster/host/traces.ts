/** The traces of a cluster on the machine, for tests that check that nothing stays behind. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parentGroups } from "./cgroup.ts";
import { runSync } from "../run.ts";

/**
 * Every process, mount, network namespace, device, control group and file of the cluster whose
 * state is in `directory`, one line each. Searches by name, not by the cluster's own records.
 */
export function tracesOf(directory: string): string[] {
  const device = `gps${basename(directory)}`;
  const named = (name: string): boolean => name === device || name.startsWith(`${device}-`);
  const devices = (runSync(["ip", "-brief", "link"]) ?? "")
    .split("\n")
    .map((line) => line.split(/[ @]/)[0] ?? "");
  const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
  const processes = list("/proc").flatMap((pid) => (Number(pid) > 0 ? [commandLine(pid)] : []));
  return [
    ...processes.filter((line) => line.includes(`${directory}/`)).map((line) => `process ${line}`),
    ...mounts.filter((line) => line.includes(`${directory}/`)).map((line) => `mount ${line}`),
    ...list("/run/netns")
      .filter(named)
      .map((name) => `namespace ${name}`),
    ...devices.filter(named).map((name) => `device ${name}`),
    ...parentGroups().flatMap((group) =>
      list(group)
        .filter(named)
        .map((name) => `control group ${join(group, name)}`),
    ),
    ...list("/run/systemd/nspawn/propagate")
      .filter(named)
      .map((name) => `propagate ${name}`),
    ...list(join(directory, ".."))
      .filter((name) => name === basename(directory))
      .map((name) => `directory ${name}`),
  ];
}

function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // gone
  }
}
