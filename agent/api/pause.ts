/** How long to wait before a request is sent again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "./connection.ts";

/**
 * The longest pauses in milliseconds, unless the API server requests a longer one. A denial lasts
 * until a person acts, except in the first seconds after a start of the API server.
 */
const longest = { usual: 10_000, denied: 60_000 } as const;

const denials: ReadonlySet<number> = new Set([401, 403, 422]);

/** The longest pause in seconds that the API server can request. */
const longestRequested = 60;

/**
 * Milliseconds to wait after that many failures in a row: at most 0.2 s, 0.4 s, 0.8 s … 10 s (60 s
 * after a denial), at least half of that. All nodes lose an API server in the same moment, and must
 * not return in the same moment. If the API server requests a pause, the result is once to twice
 * that pause.
 */
export function pauseAfter(failures: number, error: unknown): number {
  const isDenied = error instanceof Refusal && denials.has(error.status);
  const bound = longest[isDenied ? "denied" : "usual"];
  const most = Math.min(bound, 200 * 2 ** Math.min(failures - 1, 10));
  const retryAfter = error instanceof Refusal ? Math.min(error.retryAfter, longestRequested) : 0;
  const jitter = Math.random();
  return Math.max((most * (1 + jitter)) / 2, retryAfter * 1000 * (1 + jitter));
}

/** After a rest of this many milliseconds, a failure counts as the first again. */
export const steady = 10_000;

/** Waits, or until the signal. Never rejects. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {});
}
