import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contains, differing } from "./difference.ts";

const cases: readonly (readonly [
  sentence: string,
  live: unknown,
  declared: unknown,
  answer: boolean,
])[] = [
  ["ignores defaults of the server", { a: 1, b: 2 }, { a: 1 }, true],
  ["notices another value", { a: 1 }, { a: 2 }, false],
  ["notices a missing field", {}, { a: 1 }, false],
  ["notices an additional item in a list", { a: [1, 2] }, { a: [1] }, false],
  ["notices a missing item in a list", { a: [] }, { a: [1] }, false],
  ["ignores defaults inside list items", { a: [{ n: 1, d: 2 }] }, { a: [{ n: 1 }] }, true],
  ["accepts an absent field for a declared empty list", {}, { a: [] }, true],
  // Without this, each reconcile would apply `rules: []` of a Role again.
  ["accepts null for a declared empty list", { a: null }, { a: [] }, true],
  ["notices items in a list that is declared empty", { a: [1] }, { a: [] }, false],
  ["ignores a field that is declared as undefined", { a: 1 }, { b: undefined }, true],
  ["accepts an absent field for a declared empty object", {}, { a: {} }, true],
  ["accepts an absent field for an object without values", {}, { a: { b: undefined } }, true],
  ["notices an absent field for an object", {}, { a: { b: 1 } }, false],
  ["does not accept null for an empty object", { a: null }, { a: {} }, false],
  ["does not accept a text for an empty object", { a: "b" }, { a: {} }, false],
  ["does not accept null for an object", { a: null }, { a: { b: 1 } }, false],
];
for (const [sentence, live, declared, answer] of cases) {
  test(`contains: ${sentence}`, () => assert.equal(contains(live, declared), answer));
}

test("law: every value contains itself", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => contains(value, value)));
});

const paths: readonly (readonly [
  sentence: string,
  live: unknown,
  declared: unknown,
  named: string[],
  exact: string[],
])[] = [
  ["nothing differs", { a: [{ name: "x", v: 1 }] }, { a: [{ name: "x" }] }, [], []],
  ["an item beside ours", { a: [{ name: "y" }, { name: "x" }] }, { a: [{ name: "x" }] }, [], ["a"]],
  [
    "another value in a named item",
    { a: [{ name: "x", v: 2 }] },
    { a: [{ name: "x", v: 1 }] },
    ["a[x].v"],
    ["a[0].v"],
  ],
  ["a named item is gone", { a: [] }, { a: [{ name: "x" }] }, ["a[x]"], ["a"]],
  ["a list of values", { a: ["--x", "--y"] }, { a: ["--x"] }, ["a"], ["a"]],
  [
    "mounts are matched by mountPath",
    { a: [{ name: "v", mountPath: "/b" }] },
    { a: [{ name: "v", mountPath: "/a" }] },
    ["a[/a]"],
    ["a[0].mountPath"],
  ],
];
for (const [sentence, live, declared, named, exact] of paths) {
  test(`names each difference by its path: ${sentence}`, () => {
    assert.deepEqual(differing(live, declared, "named"), named);
    assert.deepEqual(differing(live, declared), exact);
  });
}
