/** The kernel's account of memory and CPU time of the agent's process. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Testbed, TestbedNode } from "../testbed/testbed.ts";
import { slotOf } from "./healthz.ts";

const mebibyte = 1024 * 1024;

/**
 * MiB. `working`: the working set, which `kubectl top` shows and on which the kubelet bases
 * evictions. `own`: memory that no other process shares.
 */
export type Memory = Readonly<{ working: number; own: number }>;

/**
 * Process id of the agent on this node; undefined if there is none. If two agents run, the process
 * id of the newer agent.
 */
export function agentOn(testbed: Testbed, node: TestbedNode): number | undefined {
  return processOn(testbed, node, "/app/agent.cjs");
}

/** Process id of the program on this node whose command line contains these words. */
export function processOn(
  testbed: Testbed,
  { node }: TestbedNode,
  words: string,
): number | undefined {
  const group = `/gps${slotOf(testbed.cluster)}/${node.name}/`;
  const pids = readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && read(`/proc/${pid}/cmdline`).includes(words))
    .filter((pid) => read(`/proc/${pid}/cgroup`).includes(group));
  return pids.length === 0 ? undefined : Math.max(...pids);
}

/** Undefined if the process has ended. */
export function memoryOf(pid: number): Memory | undefined {
  const group = memoryGroup(pid);
  const rollup = read(`/proc/${pid}/smaps_rollup`);
  if (group === undefined || rollup === "") return undefined;
  const kibibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0);
  const usage = read(join(group, "memory.usage_in_bytes")) || read(join(group, "memory.current"));
  const inactive = /^(?:total_)?inactive_file (\d+)$/m;
  const stat = read(join(group, "memory.stat"));
  const idle = /^total_inactive_file (\d+)$/m.exec(stat) ?? inactive.exec(stat);
  return {
    working: (Number(usage) - Number(idle?.[1] ?? 0)) / mebibyte,
    own: (kibibytes("Private_Clean") + kibibytes("Private_Dirty")) / 1024,
  };
}

/** The CPU time of all threads so far, in seconds, exact to the nanosecond. */
export function cpuOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(read(`/proc/${pid}/task/${task}/schedstat`).split(" ")[0] ?? 0),
  );
  return nanoseconds.reduce((sum, taskTime) => sum + taskTime, 0) / 1e9;
}

/** The directory of the container's memory cgroup, in cgroup v1 or v2. */
function memoryGroup(pid: number): string | undefined {
  for (const line of read(`/proc/${pid}/cgroup`).split("\n")) {
    const [, controllers = "", path = ""] = line.split(":");
    const roots = controllers.split(",").includes("memory") ? ["/sys/fs/cgroup/memory"] : [];
    if (controllers === "") roots.push("/sys/fs/cgroup", "/sys/fs/cgroup/unified");
    const directory = roots
      .map((root) => join(root, path))
      .find((group) => existsSync(join(group, "memory.stat")));
    if (directory !== undefined) return directory;
  }
  return undefined;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
