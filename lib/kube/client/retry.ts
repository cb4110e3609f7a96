/**
 * Retries reads that the API server refused for a moment. A read that was answered with 429 (too
 * many requests) or 503 (unavailable) is repeated here, so that one busy moment does not discard
 * the pages of a list that were already read.
 *
 * A write is never repeated here. After a 429 the server has done nothing; after a 503 or no answer
 * the outcome is unknown (`ApiError.didNothing`). In each case the caller's loop reads again and
 * decides again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./api-error.ts";

/**
 * Pause in milliseconds after the nth failure in a row: 0.5 s, 1 s, 2 s … 60 s, times 0.5 to 1.5,
 * so that two programs that failed together do not retry together.
 */
export function backoff(failures: number, random: () => number = Math.random): number {
  const base = Math.min(60_000, 500 * 2 ** Math.min(failures - 1, 20));
  return Math.round(base * (0.5 + random()));
}

/** Resolves after that many milliseconds. This wait does not keep the process alive. */
export const later = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds).unref());

type Options = Readonly<{
  /** Milliseconds, from the first attempt, after which no further attempt begins. */
  milliseconds: number;
  /** Ends a pause. The last refusal is then the result. */
  signals: readonly (AbortSignal | undefined)[];
  /** Waits that many milliseconds; false if a signal ended the pause. Only tests set it. */
  pause?: typeof paused;
}>;

/**
 * The answer of a read, repeated after each 429 and 503. The pause is `backoff`, and at least what
 * the server requests by Retry-After. A server usually requests 1 s. Ten watches that all return
 * every second would overload a server that stays busy, so `backoff` grows. Rejects with the last
 * refusal if the next attempt would begin too late, so that the caller's loop can wait instead.
 */
export async function retried<T>(
  read: () => Promise<T>,
  { milliseconds, signals, pause = paused }: Options,
): Promise<T> {
  const until = performance.now() + milliseconds;
  const stops = signals.filter((signal) => signal !== undefined);
  for (let attempts = 1; ; attempts += 1)
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError) || !busy.has(error.status)) throw error;
      const wait = Math.max((error.retryAfterSeconds ?? 0) * 1000, backoff(attempts));
      if (performance.now() + wait >= until) throw error;
      if (!(await pause(wait, AbortSignal.any(stops)))) throw error;
    }
}

const busy: ReadonlySet<number> = new Set([429, 503]);

const paused = (milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  sleep(milliseconds, true, { signal }).catch(() => false);
