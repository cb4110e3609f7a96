import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { isReserved, ranked, samePriorities } from "./input.ts";

/** `name=priority`. */
const source = (text: string): ExtraSource => {
  const [name = "", priority] = text.split("=");
  return { name, secretName: `${name}-pull`, priority: Number(priority) };
};
const order = (...sources: readonly string[]) =>
  ranked(sources.map(source)).map(({ name }) => name);

test("orders sources by priority, and those of equal priority by name", () => {
  assert.deepEqual(order("a=-5", "z=10", "m=0"), ["z", "m", "a"]);
  assert.deepEqual(order("b=1", "a=1", "c=2"), ["c", "a", "b"]);
});

test("law: gives the same order however the list is written", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { maxLength: 16 });
  fc.assert(
    fc.property(names, fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 16 }), (all, at) => {
      const lines = all.map((name, index) => `${name}=${at[index]}`);
      assert.deepEqual(order(...lines), order(...lines.toReversed()));
    }),
  );
});

test("warns of each source that has the priority of an earlier source, and names the earlier source", () => {
  const warnings = samePriorities(["c=1", "a=1", "b=1", "d=2"].map(source));
  assert.deepEqual(
    warnings.map(({ code, source: of }) => [code, of]),
    [
      ["GPS314", "b"],
      ["GPS314", "c"],
    ],
  );
  assert.match(warnings[0]?.what ?? "", /\ba\b/);
  assert.deepEqual(samePriorities(["a=1", "b=2"].map(source)), []);
});

const reserved: readonly (readonly [secretName: string, answer: boolean])[] = [
  ["global-pull-secret", true],
  ["global-pull-secret-state", true],
  ["global-pull-secret-of-mine", true],
  ["additional-pull-secret", true],
  ["additional-pull-secret-2", false],
  ["team-a-pull", false],
];
for (const [secretName, answer] of reserved)
  test(`${secretName} is ${answer ? "reserved" : "free for a source"}`, () =>
    assert.equal(isReserved({ name: "a", secretName, priority: 0 }), answer));
