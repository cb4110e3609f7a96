import assert from "node:assert/strict";
import { test } from "node:test";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporary } from "#test/temporary.ts";
import { Misuse, readBounded, unexpectedLine } from "./io.ts";

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

for (const [path, why] of [
  ["none", "no such file"],
  [".", "is a directory"],
  ["file/x", "no such file"],
  ["loop", "cannot be read (ELOOP)"],
  ["x".repeat(300), "cannot be read (ENAMETOOLONG)"],
] as const)
  test(`reports why it cannot read the file ${path.slice(0, 10)}: ${why}`, async (t) => {
    const folder = temporary(t);
    await writeFile(join(folder, "file"), "");
    await symlink("loop", join(folder, "loop"));
    const advice = "give a readable file, or - for standard input";
    await assert.rejects(
      readBounded(join(folder, path), 10),
      new Misuse(`${join(folder, path)}: ${why}; ${advice}`),
    );
  });
