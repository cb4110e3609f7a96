/** Loaded into a test file's process: after the first red test none is run. */
import { afterEach, beforeEach } from "node:test";

let red = false;

// The runner loads it as well, and would take hooks for tests of its own.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  beforeEach(() => {
    // Not skipped: who counts tests must see that they are there.
    if (red) throw new Error("a test before this one is red");
  });
  afterEach((test) => {
    red ||= "passed" in test && !test.passed;
  });
}
