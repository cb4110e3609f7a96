/** How much of something is allowed: so much a second, and what was saved up at once. */

export type Rate = Readonly<{
  perSecond: number;
  /** The most that can be saved up, and so be taken at once. */
  atOnce: number;
}>;

/** Fractions are not exact: what is as good as there is there. */
const rounding = 1e-6;

/** An allowance that is full at first. Times are milliseconds of a clock that nobody sets. */
export class Allowance {
  readonly #rate: Rate;
  #left: number;
  #at: number;

  constructor(rate: Rate, now = performance.now()) {
    this.#rate = rate;
    [this.#left, this.#at] = [rate.atOnce, now];
  }

  /**
   * Takes that much, and tells whether it was there. What was not there is owed, so that whoever
   * takes too much has less later; no more is owed than can be saved up.
   */
  take(amount: number, now = performance.now()): boolean {
    const left = this.#leftAt(now) - amount;
    [this.#left, this.#at] = [Math.max(left, -this.#rate.atOnce), now];
    return left >= -rounding;
  }

  /** When that much is there, if nothing is taken meanwhile. */
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
