/** How long to wait before a request is sent again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "./connection.ts";

/** The longest pause in milliseconds, unless the API server requests a longer one. */
const longest = 10_000;

/** The longest pause in seconds that the API server can request. */
const longestRequested = 60;

/**
 * Milliseconds to wait after that many failures in a row: at most 0.2 s, 0.4 s, 0.8 s … 10 s, at
 * least half of that. All nodes lose an API server in the same moment, and must not return in the
 * same moment. If the API server requests a pause, the result is once to twice that pause.
 */
export function pauseAfter(failures: number, error: unknown): number {
  const most = Math.min(longest, 200 * 2 ** Math.min(failures - 1, 10));
  const retryAfter = error instanceof Refusal ? Math.min(error.retryAfter, longestRequested) : 0;
  const jitter = Math.random();
  return Math.max((most * (1 + jitter)) / 2, retryAfter * 1000 * (1 + jitter));
}

/** Waits, or until the signal. Never rejects. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {});
}
