/** Writes that do not last, because another client undoes them or the server does not keep them. */
import { Allowance, type Rate } from "./allowance.ts";

/**
 * Counts the writes of one wanted content: a number of them at once, then one from time to time. A
 * content that needs more has another writer, and each write would be followed by the next at once.
 * Another content starts with the full number. Times are milliseconds of a monotonic clock.
 */
export class Contest<T> {
  readonly #rate: Rate;
  readonly #same: (one: T | undefined, other: T | undefined) => boolean;
  #of: T | undefined;
  #left: Allowance;

  /** `same`: whether two are one thing that is wanted; undefined is one as well. */
  constructor(rate: Rate, same: (one: T | undefined, other: T | undefined) => boolean) {
    [this.#rate, this.#same] = [rate, same];
    this.#left = new Allowance(rate);
  }

  /** Takes a write that the cluster answered. */
  wrote(wanted: T | undefined, now: number): void {
    if (!this.#same(wanted, this.#of)) this.#left = new Allowance(this.#rate, now);
    this.#of = wanted;
    this.#left.take(1, now);
  }

  /** Until when that may not be written again; undefined where it may be now. */
  lostUntil(wanted: T | undefined, now: number): number | undefined {
    const until = this.#same(wanted, this.#of) ? this.next(now) : now;
    return until > now ? until : undefined;
  }

  /** When what was written last may be written again. */
  next(now: number): number {
    return this.#left.when(1, now);
  }
}
