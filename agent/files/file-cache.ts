/** What was read of a file, kept as long as the file stays the same. */

/**
 * Milliseconds for which a file must have stood still before what was read of it is kept: two
 * writes within one tick of the file system's clock (up to 10 ms; 2 s on some file systems) leave
 * the same times.
 */
const trusted = 10_000;

export class Cached<T extends object> {
  readonly #clock: () => number;
  #identity: string | undefined;
  #since = 0;
  #value: T | undefined;

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * What `read` answers, or answered. The `identity` is taken before: what changes meanwhile is
   * read again by the next look. `undefined`: nothing tells the file from another one.
   */
  async read(identity: string | undefined, read: () => T | Promise<T>): Promise<T> {
    if (identity !== this.#identity) {
      // Let go before the next one is read: there is no memory for both.
      this.#value = undefined;
      this.#identity = identity;
      this.#since = this.#clock();
    }
    const value = this.#value ?? (await read());
    if (identity !== undefined && this.#clock() - this.#since >= trusted) this.#value = value;
    return value;
  }

  /** Gives the memory back; how long the file has stood still stays known. */
  forget(): void {
    this.#value = undefined;
  }
}
