/**
 * Waiting for real events: every wait for a condition, and for a condition to last. A test that
 * lets time pass without a condition does so because time is its subject, and a comment there
 * explains it.
 */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A probe returns `false`, `undefined` or throws while the condition does not hold; any other value
 * is the answer.
 */
export type Poll<T> = () => T | undefined | false | Promise<T | undefined | false>;

/** Thrown by a probe when longer waiting is useless: the wait fails with it at once. */
export class Hopeless extends Error {}

/**
 * Factor for bounds when files run side by side. A bound is for a file alone on two cores; beside
 * others, the same work takes up to four times as long. The factor only lengthens a run that fails.
 */
const patience = Number(process.env["PATIENCE"]) || 1;

/** A duration for kubectl (`--timeout=30s`), multiplied like our own bounds. */
export const patiently = (word: string): string =>
  word.replace(/(?<=^--timeout=)\d+(?=[smh]$)/, (bound) => String(Number(bound) * patience));

export type WaitOptions = Readonly<{
  /** Milliseconds until the wait fails, on a machine of its own. 60 s by default. */
  timeout?: number;
  /** Milliseconds between two checks. 100 ms by default. */
  every?: number;
  /** The last state, for the message of a failed wait; called once, when it fails. */
  seen?: () => unknown;
}>;

/**
 * Calls `probe` until it returns an answer, and returns that. Fails after `timeout` with the
 * description, the probe's last error and the last state.
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
 * Checks every 100 ms for `milliseconds` that `holds` stays true: for promises that something does
 * *not* happen.
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

/** The same for code that runs while the process exits and cannot await. False when time is up. */
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
