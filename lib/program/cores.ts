/** Keeps credentials out of core dumps. */
import { writeFileSync } from "node:fs";

/**
 * Keeps this process's memory out of core files. A read-only root file system is not enough: if the
 * node's core_pattern is a program (systemd-coredump), the kernel passes it the core on the host,
 * whatever the container's limits. Never fails. A kernel without the file coredump_filter writes no
 * cores.
 */
export function keepMemoryOutOfCores(): void {
  try {
    // 0 = dump no mappings; only registers remain.
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // The system is not Linux, so the program does not run in a cluster. Or the pod template lacks
    // our flag, and Node's permission model denies the write.
  }
}
