/** Bytes of one answer, as they arrive, up to a limit. */
import { Buffer } from "node:buffer";

/** An answer, or a line of a watch, that is larger than allowed. */
export class TooLarge extends Error {}

/**
 * Gathers chunks of any size in one buffer that doubles. A server that sends single bytes costs no
 * more than one that sends them together: a list of chunks has 100 bytes for each, and text that is
 * joined each time is copied each time.
 */
export class Gathered {
  readonly #what: string;
  readonly #largest: number;
  #bytes = Buffer.alloc(0);
  #length = 0;

  /** `what` is the name in the error. At most `largest` bytes are accepted. */
  constructor(what: string, largest: number) {
    this.#what = what;
    this.#largest = largest;
  }

  /** Throws TooLarge when they are more than the limit. */
  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#largest)
      throw new TooLarge(`${this.#what} is larger than ${this.#largest} bytes`);
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** The text so far. The next text starts empty. */
  take(): string {
    const text = this.#bytes.toString("utf8", 0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return text;
  }
}
