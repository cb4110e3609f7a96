import type { Tier } from "#tools/build/tiers.ts";

/** A deliberate breakage of the product, and the test that must notice it. */
export type Mutant = Readonly<{
  /** The number of the promise that is broken. */
  breaks: string;
  /** The product's behaviour with the breakage. */
  effect: string;
  file: string;
  /** The text in the file, which occurs exactly once, and its replacement. */
  text: string;
  instead: string;
  /** A test file that detects the breakage. If several do, the one of the lowest tier. */
  test: string;
  tier: Tier;
}>;
