/** Repeats requests while the API server is away as the controller starts. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import { backoff } from "#kube/client/retry.ts";
import { reminder } from "#kube/reminder.ts";

type Options = Readonly<{
  /** Called at once with the reason of a failure, and then once a minute while it lasts. */
  failed: (error: ApiError) => void;
  due?: ReturnType<typeof reminder>;
  pause?: (milliseconds: number) => Promise<unknown>;
}>;

/**
 * Repeats a request while the API server is away. A process that exits instead is restarted with
 * growing delays (CrashLoopBackOff).
 */
export async function patiently<T>(
  ask: () => Promise<T>,
  { failed, due = reminder(), pause = sleep }: Options,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (
        !(error instanceof ApiError) ||
        (error.status > 0 && error.status < 500 && error.status !== 429)
      )
        throw error;
      if (due(error.message)) failed(error);
      await pause(backoff(failures));
    }
  }
}
