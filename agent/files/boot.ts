/** The one clock that every process of a boot shares, and that never jumps. */
import { readFileSync } from "node:fs";

export type BootTime = Readonly<{
  /** Changes with each boot. */
  boot: string;
  /** Milliseconds of CLOCK_MONOTONIC; the kubelet counts the age of what it read by it, too. */
  monotonic: number;
}>;

/** The present moment. Throws where there is no /proc. */
export function bootTime(): BootTime {
  boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return { boot, monotonic: Math.round(Number(process.hrtime.bigint() / 1_000_000n)) };
}

let boot: string | undefined;
