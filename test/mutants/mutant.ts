import type { Tier } from "#tools/build/tiers.ts";

/** A deliberate breakage of the product, and the test file that must fail because of it. */
export type Mutant = Readonly<{
  /** The number of the promise that is broken. */
  breaks: string;
  /** The product's behaviour with the breakage. */
  effect: string;
  file: string;
  /** The text in the file, which occurs exactly once, and its replacement. */
  text: string;
  instead: string;
  /** The test file. If several files detect the breakage, the file of the lowest tier. */
  test: string;
  tier: Tier;
}>;
