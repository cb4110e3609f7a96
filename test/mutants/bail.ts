/** Loaded into a test file's process. After the first failed test no other test runs. */
import { afterEach, beforeEach } from "node:test";

let red = false;

// The runner loads this file as well, and would treat hooks as tests of its own.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  beforeEach(() => {
    // Not skipped, so that the tests still count.
    if (red) throw new Error("a test before this one has failed");
  });
  afterEach((test) => {
    red ||= "passed" in test && !test.passed;
  });
}
