/** What each operator makes of a line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { breakagesOf } from "./operators.ts";

const rows: readonly (readonly [source: string, broken: readonly string[]])[] = [
  [
    "if (a) b = 1;",
    ["if (!(a)) b = 1;", "if (false) b = 1;", "if (a) undefined;", "if (a) b = 2;"],
  ],
  ["x = a && b;", ["undefined;", "x = a;", "x = b;"]],
  ["x = a < b ? c : d;", ["undefined;", "x = !(a < b) ? c : d;", "x = a <= b ? c : d;"]],
  ["await a();", ["undefined;"]],
  ["const x = await a();", ["const x = a();"]],
  ["const x = a.filter(b);", ["const x = a;"]],
  ["const x = Math.min(a, 60);", ["const x = Math.max(a, 60);"]],
  ["const x = true;", ["const x = false;"]],
  ["const x = [a];", ["const x = [];"]],
  ["const x = [];", []],
  ["const x = { a, b: c };", ["const x = { ...{}, b: c };", "const x = { a, ...{} };"]],
  ['log.warn({ a: b < c }, "text");', []],
  ['log[a ? "warn" : "error"]({ b: c < d }, "text");', []],
  ["x = (a < b ? -1 : 1);", ["undefined;", "x = (!(a < b) ? -1 : 1);", "x = (a <= b ? -1 : 1);"]],
  ["type A = 1;", []],
];

for (const [source, broken] of rows)
  test(`breaks ${source} in ${broken.length} ways`, () => {
    const sources = breakagesOf("a.ts", source).map((breakage) => breakage.broken);
    assert.deepEqual(sources.toSorted(), broken.toSorted());
  });
