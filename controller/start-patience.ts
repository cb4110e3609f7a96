/** Repeats requests while the API server is away as the controller starts. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import { backoff } from "#kube/client/retry.ts";

/**
 * Repeats a request while the API server is away. A process that exits instead is restarted with
 * growing delays (CrashLoopBackOff).
 */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (
        !(error instanceof ApiError) ||
        (error.status > 0 && error.status < 500 && error.status !== 429)
      )
        throw error;
      await sleep(backoff(failures));
    }
  }
}
