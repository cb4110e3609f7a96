/**
 * Waits until a condition holds, or checks for some time that a condition stays true. A test is
 * allowed to sleep without a condition only if it tests time itself. A comment must explain such a
 * sleep.
 */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * While the condition does not hold, a probe returns `false` or `undefined`, or throws. Any other
 * value is the answer.
 */
export type Poll<T> = () => T | undefined | false | Promise<T | undefined | false>;

/** A probe throws this when longer waiting is useless. The wait then fails at once. */
export class Hopeless extends Error {}

/**
 * Multiplies the time limits when several test files run at the same time. The limits are for one
 * file alone on two cores. When other files run too, the same work takes up to four times as long.
 * A larger factor makes only failing runs longer.
 */
const patience = Number(process.env["PATIENCE"]) || 1;

/** Multiplies a duration for kubectl (`--timeout=30s`) by `patience`. */
export const patiently = (word: string): string =>
  word.replace(/(?<=^--timeout=)\d+(?=[smh]$)/, (bound) => String(Number(bound) * patience));

export type WaitOptions = Readonly<{
  /** Milliseconds until the wait fails, if nothing else runs on the machine. 60,000 by default. */
  timeout?: number;
  /** Milliseconds between two checks. 100 ms by default. */
  every?: number;
  /** Returns the last state, for the message of a failed wait. Called once, when the wait fails. */
  seen?: () => unknown;
}>;

/**
 * Calls `probe` until the probe returns an answer, and returns this answer. Fails after `timeout`
 * with the description, the probe's last error and the last state.
 */
export async function until<T>(
  description: string,
  probe: Poll<T>,
  { timeout: bound = 60_000, every = 100, seen }: WaitOptions = {},
): Promise<T> {
  const timeout = bound * patience;
  const started = performance.now();
  for (;;) {
    let problem = "";
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      problem = `; last error: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (performance.now() - started > timeout) {
      const last = seen === undefined ? "" : `; last seen: ${await describe(seen)}`;
      throw new Error(`waited ${timeout / 1000} s in vain until ${description}${problem}${last}`);
    }
    await sleep(every);
  }
}

/**
 * Checks every 100 ms, for this many milliseconds, that `holds` stays true. Use it for promises
 * that something does *not* happen.
 */
export async function stays(
  description: string,
  holds: () => boolean | Promise<boolean>,
  milliseconds: number,
  every = 100,
): Promise<void> {
  const started = performance.now();
  while (performance.now() - started < milliseconds) {
    if (!(await holds())) {
      throw new Error(
        `after ${Math.round(performance.now() - started)} ms it was no longer true that ${description}`,
      );
    }
    await sleep(every);
  }
}

/**
 * Like `until`, for code that cannot await, because the process is exiting. Returns false after
 * `bound` milliseconds.
 */
export function untilSync(probe: () => boolean, bound: number): boolean {
  const timeout = bound * patience;
  const started = performance.now();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!probe()) {
    if (performance.now() - started > timeout) return false;
    Atomics.wait(cell, 0, 0, 10);
  }
  return true;
}

async function describe(seen: () => unknown): Promise<string> {
  try {
    const value = await seen();
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
