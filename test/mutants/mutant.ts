import type { Tier } from "#tools/build/tiers.ts";

/** A deliberate breakage of the product, and the test that must notice it. */
export type Mutant = Readonly<{
  /** The number of the promise that no longer holds. */
  breaks: string;
  /** What the product does then. */
  effect: string;
  file: string;
  /** What stands in the file exactly once, and what stands there instead. */
  text: string;
  instead: string;
  /** The test file that finds it: of the files that do, one of the lowest tier. */
  test: string;
  tier: Tier;
}>;
