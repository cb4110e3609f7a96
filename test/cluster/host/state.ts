/**
 * The recorded state of a running cluster. With this state another process can attach to the
 * cluster, remove it, or sweep it after its owner was killed. Each cluster has one directory. The
 * directory's name is the cluster's slot, a number that determines addresses and kernel names.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { parentGroups } from "./cgroup.ts";
import { isTaken, networkOf, slots } from "./network.ts";
import { isAlive, thisProcess, type Owner } from "./owner.ts";

export type ClusterState = Readonly<{
  name: string;
  slot: number;
  /** If this process is gone and `keep` is not set, the next start removes the cluster. */
  owner: Owner;
  /** The cluster stays until you remove it by its name. */
  keep: boolean;
  /** Control groups, one per hierarchy, that contain all processes of the cluster. */
  groups: readonly string[];
  /** Indexes of the nodes; node i is named `nodeI`. */
  nodes: readonly number[];
  /** Registry users and their passwords: test values, made for this cluster. */
  users: Readonly<Record<string, string>>;
}>;

/**
 * One folder per machine, whatever XDG_CACHE_HOME or HOME contain. Names in the kernel are
 * machine-wide, so two folders would give the same slot to two clusters.
 */
const clusters = join(userInfo().homedir, ".cache/global-pull-secret/clusters");

export function directoryOf(state: Pick<ClusterState, "slot">): string {
  return join(clusters, String(state.slot));
}

/**
 * Takes the first free slot. A rename onto an existing directory fails, so two processes never take
 * the same slot.
 */
export async function claim(fresh: Pick<ClusterState, "name" | "users">): Promise<ClusterState> {
  mkdirSync(clusters, { recursive: true });
  for (let slot = 0; slot < slots; slot++) {
    const groups = parentGroups().map((group) => join(group, networkOf(slot).device));
    // If a network of this name exists in the kernel, it belongs to another cluster, even if no
    // file records that cluster.
    if ([join(clusters, String(slot)), ...groups].some((path) => existsSync(path))) continue;
    if (await isTaken(networkOf(slot))) continue;
    const state: ClusterState = {
      ...fresh,
      slot,
      owner: thisProcess,
      groups,
      keep: false,
      nodes: [],
    };
    const draft = mkdtempSync(join(clusters, ".draft-"));
    writeFileSync(join(draft, "state.json"), JSON.stringify(state), { mode: 0o600 });
    try {
      renameSync(draft, directoryOf(state));
      return state;
    } catch {
      rmSync(draft, { recursive: true });
    }
  }
  throw new Error(
    `all ${slots} address ranges from 10.100.0.0/16 on are in use: see ${clusters} and ip route`,
  );
}

/**
 * Changes the recorded state. Reads the state again first, because another process might have
 * attached to the cluster and added a node.
 */
export function update(
  slot: number,
  change: (state: ClusterState) => Partial<ClusterState>,
): ClusterState {
  const path = join(clusters, String(slot), "state.json");
  const old = JSON.parse(readFileSync(path, "utf8")) as ClusterState;
  const state = { ...old, ...change(old) };
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return state;
}

/**
 * Releases the slot. Deletes the state first, so that no other process tries to remove the cluster
 * as a leftover.
 */
export function release({ slot }: ClusterState): void {
  const directory = join(clusters, String(slot));
  rmSync(join(directory, "state.json"), { force: true });
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

/** Slots in use, including those of clusters that are just being created or removed. */
export function takenSlots(): Set<number> {
  return new Set(existsSync(clusters) ? readdirSync(clusters).map(Number) : []);
}

export function allStates(): ClusterState[] {
  if (!existsSync(clusters)) return [];
  return readdirSync(clusters).flatMap((entry) => {
    try {
      return [
        JSON.parse(readFileSync(join(clusters, entry, "state.json"), "utf8")) as ClusterState,
      ];
    } catch {
      return []; // being created or removed
    }
  });
}

export function isLeftover(state: ClusterState): boolean {
  return !state.keep && !isAlive(state.owner);
}
