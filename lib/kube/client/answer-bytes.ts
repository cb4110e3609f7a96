/** Bytes of one answer, as they arrive, up to a limit of bytes and of values. */
import { Buffer } from "node:buffer";

/** An answer, or a line of a watch, that is larger than allowed. */
export class TooLarge extends Error {}

const [brace, bracket, comma] = [0x7b, 0x5b, 0x2c];

/**
 * Gathers chunks of any size in one buffer, which doubles when it is full. Single bytes cost no
 * more than large chunks. A list of chunks would take 100 bytes more for each chunk, and joining
 * the text at each chunk would copy the whole text each time.
 */
export class Gathered {
  readonly #what: string;
  readonly #largest: number;
  readonly #mostValues: number;
  #bytes = Buffer.alloc(0);
  #length = 0;
  #values = 0;

  /**
   * `what` names the answer in the error. At most `largest` bytes and `mostValues` values of JSON
   * are accepted. A limit of bytes alone does not limit the memory: `{},` has three bytes as text,
   * and takes 62 bytes of memory when it is parsed.
   */
  constructor(what: string, largest: number, mostValues = Number.POSITIVE_INFINITY) {
    this.#what = what;
    this.#largest = largest;
    this.#mostValues = mostValues;
  }

  /** Adds a chunk. Throws TooLarge beyond a limit. */
  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#largest)
      throw new TooLarge(`${this.#what} is larger than ${this.#largest} bytes`);
    if (Number.isFinite(this.#mostValues)) this.#count(chunk);
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns the text so far, and starts an empty text. */
  take(): string {
    const text = this.#bytes.toString("utf8", 0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    this.#values = 0;
    return text;
  }

  /**
   * Counts `{`, `[` and `,`. In JSON, each item of a list and each key with its value comes right
   * after one of these characters, so their number limits the values and the keys. We also count
   * these characters within texts.
   */
  #count(chunk: Uint8Array): void {
    for (const byte of chunk)
      if (byte === brace || byte === bracket || byte === comma) this.#values += 1;
    if (this.#values > this.#mostValues)
      throw new TooLarge(`${this.#what} has more than ${this.#mostValues} values`);
  }
}
