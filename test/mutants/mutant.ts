/** A deliberate breakage of the product, and the tests that must notice it. */
export type Mutant = Readonly<{
  /** The promise that no longer holds; a rule of ours has none. */
  breaks?: string;
  /** What the product does then. */
  effect: string;
  file: string;
  /** What stands in the file exactly once, and what stands there instead. */
  text: string;
  instead: string;
  /** Words in the name of the test that finds it, where that is not the promise's number. */
  by?: string;
  /**
   * Test files that find it. Beside the sources each must turn red; of those under test/, which no
   * list has together with others, at least one, tried in this order.
   */
  tests: readonly string[];
}>;
