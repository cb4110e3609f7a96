/** Keeps what was read from a file for as long as the file stays the same. */

/**
 * A file must be unchanged for this many milliseconds before what was read is kept. Two writes
 * within one tick of the file system's clock (10 ms, on some file systems 2 s) leave equal times.
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
   * Returns what `read` returns, or returned. The `identity` is taken before reading, so a change
   * in between is read by the next look. `undefined` means that the file has none: nothing is kept.
   */
  async read(identity: string | undefined, read: () => T | Promise<T>): Promise<T> {
    if (identity !== this.#identity) {
      // Released before the next one is read: there is no memory for both.
      this.#value = undefined;
      this.#identity = identity;
      this.#since = this.#clock();
    }
    const value = this.#value ?? (await read());
    if (identity !== undefined && this.#clock() - this.#since >= trusted) this.#value = value;
    return value;
  }

  /** Whether the file was of another identity when it was last read; false before that. */
  isOutdated(identity: string | undefined): boolean {
    return this.#identity !== undefined && identity !== this.#identity;
  }

  /** Frees the memory. How long the file has been unchanged stays known. */
  forget(): void {
    this.#value = undefined;
  }
}
