/**
 * The time by the API server's clock, taken from the Date header of its answers (connection.ts).
 *
 * An age or a duration must come from one clock. Durations that this process observes itself use
 * `performance.now()`, which cannot be set. For the age of a time in the API, such as a pod's
 * creationTimestamp or a time that another controller wrote, we use the server's clock. Our own
 * clock might be minutes late. A condition that is a minute old would then look new.
 *
 * Limits: the header has whole seconds, so this clock is never ahead. It can be behind by up to one
 * second plus the time that the answer took. The time of a condition comes from a node, whose clock
 * might be wrong. With several API servers, this clock follows the server whose clock is ahead. If
 * their clocks differ by more than 5 s, it follows the last answer.
 */

/**
 * Milliseconds by which a header can be behind the known time because its answer was late. A larger
 * difference means that the server's clock was set back.
 */
const late = 5000;

export class ServerClock {
  /**
   * The server's time, in milliseconds, when `elapsed` was 0; undefined before the first answer.
   */
  #offset: number | undefined;
  readonly #own: () => number;
  readonly #elapsed: () => number;

  /**
   * Both functions return milliseconds. `own`: the local clock, used until the first answer;
   * `elapsed`: a monotonic clock.
   */
  constructor(own = () => Date.now(), elapsed = () => performance.now()) {
    [this.#own, this.#elapsed] = [own, elapsed];
  }

  /** Takes the Date header of an answer that has just come. Invalid headers change nothing. */
  received(date: string | undefined): void {
    const at = Date.parse(date ?? "");
    if (Number.isNaN(at)) return;
    const offset = at - this.#elapsed();
    // Each header is a lower bound of the time, so the greatest bound is the nearest to the time.
    if (this.#offset === undefined || offset > this.#offset || offset < this.#offset - late)
      this.#offset = offset;
  }

  now(): Date {
    return new Date(
      this.#offset === undefined ? this.#own() : Math.round(this.#offset + this.#elapsed()),
    );
  }
}
