/** Measures whether a program that runs for long needs more and more memory or descriptors. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";

export type Sample = Readonly<{ minutes: number; kib: number }>;

/**
 * What a process holds: its own memory, and its number of open descriptors. The memory includes
 * swapped pages, but not the pages of the program file, which the kernel drops and reads again at
 * any time. `minutes`: since the first observation.
 */
export type Held = Sample & Readonly<{ descriptors: number }>;

/** Minutes until every code path has been run and compiled, and the heap has reached its size. */
export const warmUp = 2;

export function heldBy(pid: number, minutes: number): Held {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const sizes = Array.from(status.matchAll(/^(?:RssAnon|VmSwap):\s+(\d+) kB$/gm), ([, kib]) =>
    Number(kib),
  );
  assert.equal(sizes.length, 2, status);
  const kib = sizes.reduce((sum, size) => sum + size);
  return { minutes, kib, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/**
 * By how many KiB the least size of the later half exceeds the least size of the earlier half, from
 * the warm-up to minute `end`. Undefined if a half has no sample.
 */
export function growth(samples: readonly Sample[], end: number): number | undefined {
  const middle = (warmUp + end) / 2;
  const warm = samples.filter(({ minutes }) => minutes >= warmUp);
  const [later, earlier] = [true, false].map((isLater) =>
    warm.filter(({ minutes }) => minutes > middle === isLater).map(({ kib }) => kib),
  );
  if (!later?.length || !earlier?.length) return undefined;
  return Math.min(...later) - Math.min(...earlier);
}
