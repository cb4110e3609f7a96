/** Loaded into a test file's process. After the first failed test no other test runs. */
import { afterEach, beforeEach } from "node:test";

let hasFailed = false;

// The runner loads this file as well, and would treat hooks as tests of its own.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  beforeEach(() => {
    // Not skipped, so that the tests still count.
    if (hasFailed) throw new Error("a test before this one has failed");
  });
  afterEach((test) => {
    hasFailed ||= "passed" in test && !test.passed;
  });
}
