/** Keeps credentials out of core files. */
import { writeFileSync } from "node:fs";

/**
 * Leaves this process's memory, which holds credentials, out of core files. Where the node's
 * core_pattern is a program, the kernel hands it the core, whatever the container's limits. Never
 * fails: a kernel without this file makes no cores.
 */
export function keepMemoryOutOfCores(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Outside a cluster, on another system.
  }
}
