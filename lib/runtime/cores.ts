/** Keeps credentials out of core dumps. */
import { writeFileSync } from "node:fs";

/**
 * Keeps this process's memory out of core dumps. A read-only root file system is not enough: if the
 * node's core_pattern names a program, such as systemd-coredump, the kernel passes the dump to that
 * program on the host, whatever the container's limits. Never fails. A kernel without the file
 * coredump_filter writes no core dumps.
 */
export function keepMemoryOutOfCores(): void {
  try {
    // 0 = dump no mappings; only registers remain.
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Either the system is not Linux, so this is not a cluster. Or the pod template lacks the flag
    // --allow-fs-write for this file, so Node.js denies the write.
  }
}
