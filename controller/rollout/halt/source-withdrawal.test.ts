import assert from "node:assert/strict";
import { test } from "node:test";
import { takesBack } from "./source-withdrawal.ts";

const both = { "a.io": "additional", "b.io": "team-b" };
const cases: readonly (readonly [
  before: object | undefined,
  after: object,
  remain: readonly string[],
  expected: boolean,
])[] = [
  [undefined, both, [], false],
  [both, both, [], false],
  [both, { ...both, "c.io": "team-c" }, [], false],
  [both, { "a.io": "additional" }, [], true],
  [both, { "a.io": "team-b", "b.io": "team-b" }, [], true],
  // One entry of several is an edit, whose author is still there.
  [{ ...both, "c.io": "team-b" }, both, [], false],
  [both, {}, [], true],
  // So is one that overrides all that another source has, and stays an edit.
  [both, { "a.io": "additional", "b.io": "additional" }, ["additional", "team-b"], false],
  [both, { "a.io": "additional", "b.io": "additional" }, ["additional"], true],
  [{ "a.io": "original" }, { "a.io": "additional" }, ["additional", "original"], false],
];
for (const [before, after, remain, expected] of cases)
  test(`${JSON.stringify(before)} → ${JSON.stringify(after)}, left are ${remain.join()}: ${expected}`, () => {
    const text = before && JSON.stringify(before);
    assert.equal(takesBack(text, JSON.stringify(after), remain), expected);
  });

test("malformed JSON supplies nothing", () => {
  assert.equal(takesBack("{]", JSON.stringify(both), []), false);
  assert.equal(takesBack(JSON.stringify(both), "null", []), true);
});
