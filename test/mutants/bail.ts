/** Loaded into a test file's process: runs no further test after the first failed test. */
import { afterEach, beforeEach } from "node:test";

let hasFailed = false;

// Skips the runner's process, which loads this file as well and would treat the hooks as tests.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  beforeEach(() => {
    // Fails the test instead of skipping it, so that the number of tests stays the same.
    if (hasFailed) throw new Error("a test before this one has failed");
  });
  afterEach((test) => {
    hasFailed ||= "passed" in test && !test.passed;
  });
}
