import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "./values.ts";

test("a time that no timer takes is the longest that one does, and not over at once", () => {
  assert.equal(duration("596h"), 596 * 3600);
  assert.equal(duration("600h"), 2_147_483);
});
