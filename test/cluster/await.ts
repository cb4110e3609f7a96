/**
 * Waiting for the real world: every wait for a condition, and for one that is to stay. A test that
 * lets time pass by itself does so because that time is what it is about, and says so there.
 */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A probe says `false`, `undefined` or throws while the thing is not there yet; anything else is
 * the answer.
 */
export type Poll<T> = () => T | undefined | false | Promise<T | undefined | false>;

/** Thrown by a probe when waiting longer is of no use: the wait fails with it at once. */
export class Hopeless extends Error {}

/**
 * By what bounds are multiplied where files run side by side: a bound is for a file alone on two
 * cores, and what is waited for takes up to four times as long beside others. It makes only a run
 * longer that fails.
 */
const patience = Number(process.env["PATIENCE"]) || 1;

/** A word of kubectl's, its own bound (`--timeout=30s`) multiplied as ours are. */
export const patiently = (word: string): string =>
  word.replace(/(?<=^--timeout=)\d+(?=[smh]$)/, (bound) => String(Number(bound) * patience));

export type WaitOptions = Readonly<{
  /** Milliseconds until the wait fails, on a machine of its own. 60 s by default. */
  timeout?: number;
  /** Milliseconds between two looks. 100 ms by default. */
  every?: number;
  /** What was seen last, for the message of a wait that failed; asked once, when it fails. */
  seen?: () => unknown;
}>;

/**
 * Looks again and again until `probe` answers, and returns its answer.
 * Fails after `timeout` with the description, the probe's last error and what was last seen.
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
 * Watches, each 100 ms, that `holds` stays true for `milliseconds`: for promises that something
 * does *not* happen.
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
        `after ${Math.round(performance.now() - started)} ms it was no longer so that ${description}`,
      );
    }
    await sleep(every);
  }
}

/**
 * The same for code that runs while the process exits and can await nothing. False when time is up.
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
