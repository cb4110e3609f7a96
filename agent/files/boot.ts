/** The one clock that every process of a boot shares, and that never jumps. */
import { readFileSync } from "node:fs";

export type BootTime = Readonly<{
  /** Another one after each boot. */
  boot: string;
  /**
   * Milliseconds of CLOCK_MONOTONIC, by which the kubelet, too, counts the age of what it has read.
   */
  monotonic: number;
}>;

/** The present moment. Throws where there is no /proc. */
export function bootTime(): BootTime {
  boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return { boot, monotonic: Math.round(Number(process.hrtime.bigint() / 1_000_000n)) };
}

let boot: string | undefined;
