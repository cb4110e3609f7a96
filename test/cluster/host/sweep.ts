/** Removes clusters: at the end of a run, on Ctrl-C, and after a run that was killed. */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { removeGroups } from "./cgroup.ts";
import { networkOf, removeNetwork } from "./network.ts";
import { take } from "../cache.ts";
import { endRunning, progress, runSync } from "../run.ts";
import {
  allStates,
  directoryOf,
  isLeftover,
  release,
  takenSlots,
  type ClusterState,
} from "./state.ts";

const nspawn = "/run/systemd/nspawn/propagate";

/** The clusters of this process, by slot. */
const ours = new Map<number, ClusterState>();

/**
 * Ends all processes of a cluster and removes its groups, network and files. Removes the directory
 * last, because the directory reserves the slot. You can repeat the call.
 */
export function remove(state: ClusterState): void {
  ours.delete(state.slot);
  const network = networkOf(state.slot);
  removeGroups(state.groups);
  removeNetwork(network);
  removeTraces(network.device, directoryOf(state));
  release(state);
}

/**
 * Removes a cluster that a killed run left. Test files start at the same time, so another process
 * might have removed the leftover already, and the leftover's slot might belong to a new cluster.
 * Therefore a process removes a leftover only while it holds the lock, and only if it is still a
 * leftover.
 */
export function removeLeftover({ slot, name }: ClusterState): void {
  const lock = join(directoryOf({ slot }), "sweep.lock");
  if (!holds(lock)) return;
  const now = allStates().find((state) => state.slot === slot);
  if (now === undefined || !isLeftover(now)) return rmSync(lock, { force: true });
  progress(`removing cluster ${name}, left by a run that was killed`);
  remove(now);
}

function holds(lock: string): boolean {
  try {
    // Tries twice: the first try removes the lock of a sweep that was itself killed.
    return take(lock) || take(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return false; // the cluster is gone
  }
}

/**
 * Removes the files that a killed systemd-nspawn leaves in /run, for each machine and each root
 * directory.
 */
function removeTraces(device: string, directory: string): void {
  for (const machine of entries(nspawn)) {
    if (machine.startsWith(`${device}-`))
      rmSync(join(nspawn, machine), { recursive: true, force: true });
  }
  for (const entry of entries(directory)) {
    const stats = statSync(join(directory, entry), { throwIfNoEntry: false });
    if (stats === undefined) continue; // another run has just removed the lock
    rmSync(`/run/systemd/nspawn/locks/inode-${stats.dev}:${stats.ino}`, { force: true });
  }
}

function entries(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Removes every cluster whose process is gone, unless the cluster was started with `keep`. */
export function sweep(): void {
  for (const state of allStates().filter(isLeftover)) removeLeftover(state);
  // Deletes namespaces that a program of a killed run made after the cluster was removed. A
  // namespace with a process is in use and stays. Reads the slots after the namespaces: a run takes
  // its slot before it makes a namespace, so no new namespace looks unused.
  const names = entries("/run/netns");
  const taken = takenSlots();
  for (const name of names) {
    const slot = Number(/^gps(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(slot) || taken.has(slot)) continue;
    if (runSync(["ip", "netns", "pids", name]) === "") runSync(["ip", "netns", "delete", name]);
  }
}

/**
 * From now on this process removes the cluster when the process ends, unless the cluster is kept.
 */
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
  // The state on disk is newer: it includes nodes that were added.
  for (const state of allStates()) if (ours.has(state.slot) && !state.keep) remove(state);
}
