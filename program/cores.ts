/** What a crash leaves behind. */
import { writeFileSync } from "node:fs";

/**
 * Keeps this process's memory, in which credentials are, out of core files: where the node's
 * core_pattern is a program, the kernel gives it the core, whatever the container's limits. Never
 * fails: a kernel without this file makes no cores.
 */
export function keepMemoryOutOfCores(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Outside a cluster, on another system.
  }
}
