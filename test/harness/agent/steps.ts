/** Tests that are the steps of one story, on one node. */
import type { TestContext } from "node:test";

/**
 * Makes the steps of one story. After a failed step the node is in a state that the next steps do
 * not expect, so they are skipped with the reason "an earlier step failed".
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
