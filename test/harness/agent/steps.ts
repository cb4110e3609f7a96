/** Tests that are consecutive steps on one node. */
import type { TestContext } from "node:test";

/**
 * Makes consecutive steps. Skips the steps after a failed step, with the reason "an earlier step
 * failed", because they expect another state of the node.
 */
export function steps() {
  let isBroken = false;
  return (run: () => Promise<void>) => async (t: TestContext) => {
    if (isBroken) return t.skip("an earlier step failed");
    isBroken = true;
    await run();
    isBroken = false;
  };
}
