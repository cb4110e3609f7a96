import assert from "node:assert/strict";
import { test } from "node:test";
import { takesBack } from "./source-withdrawal.ts";

const both = { "a.io": "additional", "b.io": "team-b" };
const cases: readonly (readonly [before: object | undefined, after: object, expected: boolean])[] =
  [
    [undefined, both, false],
    [both, both, false],
    [both, { ...both, "c.io": "team-c" }, false],
    [both, { "a.io": "additional" }, true],
    [both, { "a.io": "team-b", "b.io": "team-b" }, true],
    // One entry of several is an edit, whose author is still there.
    [{ ...both, "c.io": "team-b" }, both, false],
    [both, {}, true],
  ];
for (const [before, after, expected] of cases)
  test(`${JSON.stringify(before)} → ${JSON.stringify(after)}: ${expected}`, () => {
    assert.equal(takesBack(before && JSON.stringify(before), JSON.stringify(after)), expected);
  });

test("malformed JSON supplies nothing", () => {
  assert.equal(takesBack("{]", JSON.stringify(both)), false);
  assert.equal(takesBack(JSON.stringify(both), "null"), true);
});
