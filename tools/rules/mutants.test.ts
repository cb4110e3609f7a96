import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { tierOf } from "#tools/build/tiers.ts";
import { mutants } from "#test/mutants/list.ts";
import { promises } from "../pages/promises.ts";

test("finds each mutant's text exactly once in the mutant's file, and each mutant's test in the stated tier", () => {
  for (const { effect, file, text, instead, test: found, tier } of mutants) {
    const times = readFileSync(file, "utf8").split(text).length - 1;
    assert.equal(times, 1, `${file} has ${times} times: ${text}`);
    assert.notEqual(text, instead, effect);
    assert.ok(existsSync(found), found);
    assert.equal(tier, tierOf(found), `${effect}: the tier of ${found}`);
  }
});

test("has no two equal mutants", () => {
  const changes = mutants.map(({ file, text, instead }) => [file, text, instead].join("\n"));
  assert.equal(new Set(changes).size, mutants.length);
  assert.equal(new Set(mutants.map(({ effect }) => effect)).size, mutants.length);
});

test("has a mutant for every promise, and a promise for every mutant", () => {
  const broken = new Set(mutants.map(({ breaks }) => breaks));
  assert.deepEqual([...broken].toSorted(), Object.keys(promises).toSorted());
});

test("runs no further test of a file after the first failure, and counts all tests", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bail-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "a.test.cjs");
  writeFileSync(
    file,
    `const { test } = require("node:test");
    const says = (name) => test(name, (t) => t.diagnostic("ran " + name));
    says("first");
    test("ill", async (t) => { await t.test("a part", () => { throw new Error("no"); }); });
    says("last");`,
  );
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const bail = join(import.meta.dirname, "../../test/mutants/bail.ts");
  const argv = ["--import", bail, "--test", "--test-reporter=spec", file];
  const { stdout } = spawnSync(process.execPath, argv, { env, encoding: "utf8" });
  assert.deepEqual(Array.from(stdout.matchAll(/ran \w+/g), String), ["ran first"]);
  assert.match(stdout, /^ℹ tests 4$.*^ℹ pass 1$.*^ℹ fail 3$/ms);
});
