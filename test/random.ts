import type { TestContext } from "node:test";

/** A source of random choices (mulberry32). The same seed gives the same choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 inclusive to `limit` exclusive. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** From 0 inclusive to 1 exclusive. */
  fraction(): number {
    return this.below(2 ** 32) / 2 ** 32;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Returns true in one of `times` calls, on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }
}

/** The random choices of one test. Uses SEED if it is set, so that you can repeat a failure. */
export function seeded(test: Pick<TestContext, "diagnostic">): Random {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  test.diagnostic(`SEED=${seed}`);
  return new Random(seed);
}

/** A list of choices, written as one text: each word is a choice. */
export function words(text: string): string[] {
  return text.split(" ");
}
