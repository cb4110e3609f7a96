/** Writes that do not last: somebody in the cluster undoes them, or it only says they were made. */
import { Allowance } from "#kube/allowance.ts";
import { has, type Content } from "../secret/content.ts";

/**
 * Writes of one content, or removals, that a cluster gets. To repair it five times at once is
 * nothing special. A cluster that needs more than one a minute, for ever, undoes them; as a canary
 * it would hold up all others, and each write would be followed by the next at once.
 */
const writes = { perSecond: 1 / 60, atOnce: 5 };

/** What is to be there; undefined: nothing. */
export type Due = Content | undefined;

export class Contest {
  #of: Due;
  #left = new Allowance(writes);

  /** Takes a write that the cluster answered. Times are milliseconds. */
  wrote(wanted: Due, now: number): void {
    if (!same(wanted, this.#of)) this.#left = new Allowance(writes, now);
    this.#of = wanted;
    this.#left.take(1, now);
  }

  /** Until when that may not be written again; undefined where it may be now. */
  lostUntil(wanted: Due, now: number): number | undefined {
    const until = same(wanted, this.#of) ? this.next(now) : now;
    return until > now ? until : undefined;
  }

  /** When what was written last may be written again. */
  next(now: number): number {
    return this.#left.when(1, now);
  }
}

export const same = (one: Due, other: Due): boolean =>
  one === other || (one !== undefined && other !== undefined && has(one, other));
