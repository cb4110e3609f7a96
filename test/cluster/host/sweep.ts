/** Leaving nothing behind: neither at the end, nor on Ctrl-C, nor after a run that was killed. */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { removeGroups } from "./cgroup.ts";
import { networkOf, removeNetwork } from "./network.ts";
import { endRunning, progress, runSync } from "../run.ts";
import { allStates, directoryOf, isLeftover, takenSlots, type ClusterState } from "./state.ts";

const nspawn = "/run/systemd/nspawn/propagate";

/** The clusters of this process, by slot. */
const ours = new Map<number, ClusterState>();

/**
 * Ends all processes of a cluster and removes its groups, network and files; the directory last, as
 * it holds the slot. Can be repeated.
 */
export function remove(state: ClusterState): void {
  ours.delete(state.slot);
  const network = networkOf(state.slot);
  removeGroups(state.groups);
  removeNetwork(network);
  removeTraces(network.device, directoryOf(state));
  rmSync(directoryOf(state), { recursive: true, force: true, maxRetries: 3 });
}

/**
 * What systemd-nspawn keeps in /run per machine and per root directory and does not get to remove
 * when it is killed.
 */
function removeTraces(device: string, directory: string): void {
  for (const machine of entries(nspawn)) {
    if (machine.startsWith(`${device}-`))
      rmSync(join(nspawn, machine), { recursive: true, force: true });
  }
  for (const entry of entries(directory)) {
    const { dev, ino } = statSync(join(directory, entry));
    rmSync(`/run/systemd/nspawn/locks/inode-${dev}:${ino}`, { force: true });
  }
}

function entries(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Removes every cluster whose process is gone and that nobody wanted to keep. */
export function sweep(): void {
  for (const state of allStates().filter(isLeftover)) {
    progress(`removing cluster ${state.name}, left by a run that was killed`);
    remove(state);
  }
  // A program that a killed run had started may have made its namespace after the cluster was
  // removed. One that holds a process is somebody's and stays.
  const taken = takenSlots();
  for (const name of entries("/run/netns")) {
    const slot = Number(/^gps(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(slot) || taken.has(slot)) continue;
    if (runSync(["ip", "netns", "pids", name]) === "") runSync(["ip", "netns", "delete", name]);
  }
}

/** From now on the cluster goes with this process, unless it is kept. */
export function watchOver(state: ClusterState): void {
  if (ours.size === 0) {
    process.on("exit", removeOurs);
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const) {
      process.once(signal, () => process.exit(code));
    }
  }
  ours.set(state.slot, state);
}

function removeOurs(): void {
  endRunning();
  // The state on disk is newer: it names nodes that were added.
  for (const state of allStates()) if (ours.has(state.slot) && !state.keep) remove(state);
}
