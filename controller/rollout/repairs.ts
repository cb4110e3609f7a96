/**
 * Writes that no decision waits for: of the agents' rights and of the DaemonSet. A refused one is
 * reported and tried again after a pause. Until then everything else goes on, because a withdrawal
 * and a rotation need none of these objects to change.
 */
import { ApiError } from "#kube/client/api-error.ts";
import { isConflict } from "#kube/loop.ts";

/** Seconds until the next try after a conflict, after a first failure, and after others. */
const pauses = { conflict: 1, first: 5, later: 60 } as const;

type Failure = Readonly<{ error: Error; failures: number; until: number }>;

/** Times are seconds of a clock that never goes back. */
export class Repairs {
  readonly #failed = new Map<string, Failure>();

  /** Sends a write of the object of this name; undefined if it failed, or waits for its pause. */
  async attempt<T>(name: string, now: number, write: () => Promise<T>): Promise<T | undefined> {
    if ((this.#failed.get(name)?.until ?? now) > now) return undefined;
    try {
      const made = await write();
      this.#failed.delete(name);
      return made;
    } catch (error) {
      const failures = (this.#failed.get(name)?.failures ?? 0) + (isConflict(error) ? 0 : 1);
      const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
      const pause = isConflict(error)
        ? pauses.conflict
        : failures === 1
          ? pauses.first
          : pauses.later;
      const until = now + Math.max(pause, asked);
      this.#failed.set(name, { error: error as Error, failures, until });
      return undefined;
    }
  }

  /** The error to report: the same one until it is tried again. */
  get failure(): Error | undefined {
    const errors = [...this.#failed.values()].map(({ error }) => error);
    return errors.find((error) => !isConflict(error)) ?? errors[0];
  }

  /** Seconds until the next try; infinite if none is to come. */
  again(now: number): number {
    const ends = [...this.#failed.values()].map(({ until }) => until - now);
    return Math.min(Number.POSITIVE_INFINITY, ...ends.filter((left) => left > 0));
  }
}
