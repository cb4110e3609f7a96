import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, Wrong } from "./values.ts";

test("limits a duration to the longest timer of Node.js: a longer timer fires at once", () => {
  assert.equal(duration("596h"), 596 * 3600);
  assert.equal(duration("600h"), 2_147_483);
});

for (const [text, seconds] of Object.entries({
  "90s": 90,
  "1h30m": 5400,
  "1h0m5s": 3605,
  "05m": 300,
}))
  test(`reads ${text} as Go does`, () => assert.equal(duration(text), seconds));

for (const text of [
  "",
  "0",
  "0s",
  "1.5h",
  "0h0m",
  "3",
  "-1s",
  "1d",
  "30m1h",
  "1m1m",
  "1h 30m",
  ".m",
  "1e3s",
  "0.5s",
])
  test(`refuses ${JSON.stringify(text)} as a duration`, () =>
    assert.ok(duration(text) instanceof Wrong));
