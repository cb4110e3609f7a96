/** A rate limit: an amount per second, and a reserve that can be taken at once. */

export type Rate = Readonly<{
  perSecond: number;
  /** The largest amount that can be saved up, and taken at once. */
  atOnce: number;
}>;

/** Rounding tolerance: an amount counts as available if less than this is missing. */
const rounding = 1e-6;

/** An allowance that is full at first. Times are milliseconds of a monotonic clock. */
export class Allowance {
  readonly #rate: Rate;
  #left: number;
  #at: number;

  constructor(rate: Rate, now = performance.now()) {
    this.#rate = rate;
    [this.#left, this.#at] = [rate.atOnce, now];
  }

  /**
   * Takes an amount, and returns whether it was available. A missing part becomes debt, so a caller
   * that takes too much has less later. The debt is at most the reserve.
   */
  take(amount: number, now = performance.now()): boolean {
    const remaining = this.#leftAt(now) - amount;
    [this.#left, this.#at] = [Math.max(remaining, -this.#rate.atOnce), now];
    return remaining >= -rounding;
  }

  /** The time at which this amount will be available if nothing else is taken. */
  when(amount: number, now = performance.now()): number {
    return (
      now + Math.max(0, Math.ceil(((amount - this.#leftAt(now)) / this.#rate.perSecond) * 1000))
    );
  }

  #leftAt(now: number): number {
    const seconds = (now - this.#at) / 1000;
    return Math.min(this.#rate.atOnce, this.#left + seconds * this.#rate.perSecond);
  }
}
