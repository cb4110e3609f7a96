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
  ["defaults of the server do not count", { a: 1, b: 2 }, { a: 1 }, true],
  ["another value does", { a: 1 }, { a: 2 }, false],
  ["a missing field does", {}, { a: 1 }, false],
  ["an item too many in a list does", { a: [1, 2] }, { a: [1] }, false],
  ["an item too few does", { a: [] }, { a: [1] }, false],
  ["defaults inside list items do not", { a: [{ n: 1, d: 2 }] }, { a: [{ n: 1 }] }, true],
  ["a declared empty list may be absent", {}, { a: [] }, true],
  // rules: [] of a Role: taken for a difference, it was applied again with every reconcile.
  ["and the server may return null for it", { a: null }, { a: [] }, true],
  ["but not when it is filled", { a: [1] }, { a: [] }, false],
  ["what is declared as undefined is not declared", { a: 1 }, { b: undefined }, true],
  ["null is not an object", { a: null }, { a: { b: 1 } }, false],
];
for (const [sentence, live, declared, answer] of cases) {
  test(`contains: ${sentence}`, () => assert.equal(contains(live, declared), answer));
}

test("law: everything contains itself", () => {
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
    "mounts go by their path",
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
