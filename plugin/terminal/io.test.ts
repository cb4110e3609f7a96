import assert from "node:assert/strict";
import { test } from "node:test";
import { unexpectedLine } from "./io.ts";

const stack = "Error: pa55\n    at run (file:///plugin/a.ts:12:3)\n    at b.ts:1:1";
for (const [error, where] of [
  [Object.assign(new Error("pa55"), { stack }), "Error at a.ts:12:3"],
  [Object.assign(new Error("pa55"), { stack, code: "EX" }), "Error EX at a.ts:12:3"],
  ["pa55", "string at an unknown place"],
  [undefined, "undefined at an unknown place"],
] as const)
  test(`reports an unexpected ${where} without its message`, () => {
    const advice = "report this line, and what kubectl pull-secret version prints";
    assert.equal(unexpectedLine(error), `unexpected ${where}: ${advice}`);
  });
