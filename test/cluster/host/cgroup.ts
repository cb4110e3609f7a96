/**
 * Every process of a cluster lives in the cluster's own control groups, so that all processes can
 * be found and ended, even if no file records them. Each node gets its own group in *every*
 * hierarchy. The node's systemd, containers and leftovers are below the node's group. Therefore no
 * two nodes' systemd manage the same tree.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { untilSync } from "../await.ts";

/**
 * The parents of a cluster's groups: this process's own group in each mounted hierarchy. But on a
 * machine with only cgroup v2 the parent is the root, because no cgroup controller can be enabled
 * below a group that contains processes.
 */
export function parentGroups(): string[] {
  const mounts = new Map<string, string>();
  for (const line of readFileSync("/proc/mounts", "utf8").split("\n")) {
    const [, path = "", type, options = ""] = line.split(" ");
    if (type === "cgroup2") mounts.set("", path);
    if (type === "cgroup") for (const option of options.split(",")) mounts.set(option, path);
  }
  if (mounts.size === 1) return [...mounts.values()];
  return readFileSync("/proc/self/cgroup", "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [, controllers = "", ...path] = line.split(":");
      const mount = mounts.get(controllers.split(",")[0] ?? "");
      return mount === undefined ? [] : [join(mount, path.join(":"))];
    });
}

/** Makes the group `name` below each of `parents` and returns the new directories. */
export function makeGroups(parents: readonly string[], name: string): string[] {
  return parents.map((parent) => {
    const group = join(parent, name);
    mkdirSync(group, { recursive: true });
    // A new cpuset is empty, and an empty cpuset accepts no process.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      if (existsSync(join(group, file)))
        writeFileSync(join(group, file), readFileSync(join(parent, file), "utf8"));
    }
    return group;
  });
}

/** Enables the controllers of cgroup v2 for the groups below `groups`. v1 has no such switch. */
export function delegate(groups: readonly string[]): void {
  for (const group of groups) {
    const available = join(group, "cgroup.controllers");
    if (!existsSync(available)) continue;
    const controllers = readFileSync(available, "utf8")
      .trim()
      .split(" ")
      .filter((name) => name !== "");
    writeFileSync(
      join(group, "cgroup.subtree_control"),
      controllers.map((name) => `+${name}`).join(" "),
    );
  }
}

/** The command line of a shell that enters `groups` and then executes the program in its place. */
export function inGroups(groups: readonly string[], argv: readonly string[]): string[] {
  const script =
    'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"';
  return ["/bin/sh", "-c", script, "sh", ...groups, "--", ...argv];
}

/**
 * Ends every process below `groups` and removes the groups. Throws if something cannot be ended.
 * Kills and removes in turn until nothing is left, because a program that is just starting can
 * enter its group in between.
 */
export function removeGroups(groups: readonly string[]): void {
  const removed = untilSync(() => {
    const all = groups.flatMap(tree);
    for (const pid of all.flatMap(processes)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Already gone.
      }
    }
    return all.map(removeGroup).every((gone) => gone);
  }, 20_000);
  if (removed) return;
  const remainingGroups = groups
    .flatMap(tree)
    .map((group) => `${group} (processes ${processes(group).join(" ")})`);
  throw new Error(`could not remove the control groups ${remainingGroups.join(", ")}`);
}

/** The processes of this group, without the groups below it: their ids in our own pid namespace. */
export function processes(group: string): number[] {
  try {
    const text = readFileSync(join(group, "cgroup.procs"), "utf8");
    return text.split("\n").flatMap((line) => (Number(line) > 0 ? [Number(line)] : []));
  } catch {
    return [];
  }
}

/** The group and all groups below it, deepest first. */
function tree(group: string): string[] {
  if (!existsSync(group)) return [];
  let below: string[] = [];
  try {
    below = readdirSync(group, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    // Removed meanwhile.
  }
  return [...below.flatMap((name) => tree(join(group, name))), group];
}

function removeGroup(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
