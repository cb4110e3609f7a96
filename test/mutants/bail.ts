/** Loaded into a test file's process. After the first failed test no other test runs. */
import { afterEach, beforeEach } from "node:test";

let hasFailed = false;

// The runner loads this file as well, and would treat hooks as tests of its own.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  beforeEach(() => {
    // Fails the test instead of skipping it, so that the number of tests stays the same.
    if (hasFailed) throw new Error("a test before this one has failed");
  });
  afterEach((test) => {
    hasFailed ||= "passed" in test && !test.passed;
  });
}
