/**
 * Runs one reconcile at a time. Any number of hints during a run cause one further run. After a
 * conflict the next run follows soon. A failed run is retried after an exponentially growing,
 * jittered pause, even if hints keep coming, so no fault of the cluster becomes a hot loop.
 */
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import { backoff } from "#kube/client/retry.ts";

/** Seconds after which to run again even if nothing has happened; no later than `resyncSeconds`. */
export type Again = Readonly<{ seconds: number }>;

/** The earlier of two; undefined if neither is set. */
export function sooner(again: Again | undefined, other: Again | undefined): Again | undefined {
  return again && other ? { seconds: Math.min(again.seconds, other.seconds) } : (again ?? other);
}

/**
 * Minimum pause between two runs: during a rollout the DaemonSet changes several times a second.
 */
const gapMilliseconds = 200;

/**
 * Longest pause between two runs, so that we find a change that the watches missed; jittered by a
 * fifth.
 */
const resyncSeconds = 300;

/**
 * Milliseconds of pause after a conflict, times 0.5 to 1.5. A conflict means that another client
 * wrote between our read and our write, so the next run reads again. This pause does not grow:
 * during a rollout, a DaemonSet's status changes several times a second, and five conflicts in a
 * row must not cause a pause of 16 s. contested-client.ts handles a client that keeps writing
 * against us.
 */
const conflictMilliseconds = 300;

/** Seconds of silence after which a loop counts as hanging. The longest pause is 360 s. */
export const hangsSeconds = 600;

/**
 * True if another client wrote between our read and our write, so our write had no effect. A
 * webhook's denial can have the same status, and lasts until a person acts.
 */
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && !error.isDenial;

type Options = Readonly<{
  run: () => Promise<Again | undefined>;
  /**
   * Called after every failed run, with the number of failures in a row; a conflict (409) is not a
   * failure, and leaves that number unchanged. Can return a longer pause in seconds (the server's
   * Retry-After).
   */
  failed: (error: unknown, failures: number) => number | undefined;
}>;

/** Logs each failed run with this message. The next run honours the server's Retry-After. */
export function logFailures(log: Logger, message: string): Options["failed"] {
  return (error, failures) => {
    log.error({ failures, error: (error as Error).message }, message);
    return error instanceof ApiError ? error.retryAfterSeconds : undefined;
  };
}

/** Logs a failure that ends by itself, such as that of a watch. */
export const warnOf = (log: Pick<Logger, "warn">, message: string) => (error: Error) =>
  log.warn({ error: error.message }, message);

export type RunningLoop = Readonly<{
  hint: () => void;
  /**
   * Seconds since the last run ended, even if that run failed. Before the first run has ended:
   * seconds since the loop began, or 0 if it has not begun. Uses a monotonic clock, because setting
   * the system clock forward must not make an idle loop count as hanging.
   */
  silence: () => number;
  /** Resolves when `signal` has aborted and the running reconcile has ended. */
  until: (signal: AbortSignal) => Promise<void>;
}>;

const nothing = () => {};

export function createLoop({ run, failed }: Options): RunningLoop {
  let hinted = true;
  let wake = nothing;
  let ended: number | undefined;

  async function pause(
    milliseconds: number,
    signal: AbortSignal,
    hintEnds: boolean,
  ): Promise<void> {
    if (signal.aborted || (hintEnds && hinted)) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener("abort", end);
      if (hintEnds) wake = end;
    });
  }

  return {
    hint() {
      hinted = true;
      wake();
    },
    silence: () => (ended === undefined ? 0 : (performance.now() - ended) / 1000),
    async until(signal) {
      let failures = 0;
      ended = performance.now();
      while (!signal.aborted) {
        hinted = false;
        try {
          const again = await run();
          ended = performance.now();
          failures = 0;
          const resync = resyncSeconds * (0.8 + 0.4 * Math.random());
          await pause(gapMilliseconds, signal, false);
          await pause(Math.min(again?.seconds ?? resync, resync) * 1000, signal, true);
        } catch (error) {
          ended = performance.now();
          const conflict = isConflict(error);
          if (!conflict) failures += 1;
          const asked = (failed(error, failures) ?? 0) * 1000;
          const own = conflict ? conflictMilliseconds * (0.5 + Math.random()) : backoff(failures);
          await pause(Math.max(asked, own), signal, false);
        }
      }
    },
  };
}
