import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isReal, missedBy } from "#test/mutants/found.ts";
import { mutants } from "#test/mutants/list.ts";
import { promises } from "../pages/promises.ts";

test("what a breakage changes stands exactly once in its file, and its tests are there", () => {
  for (const { effect, file, text, instead, tests } of mutants) {
    const found = readFileSync(file, "utf8").split(text).length - 1;
    assert.equal(found, 1, `${file} has ${found} times: ${text}`);
    assert.notEqual(text, instead, effect);
    assert.ok(tests.length > 0, effect);
    for (const one of tests) assert.ok(existsSync(one), one);
    const real = tests.filter(isReal).length;
    assert.ok(real === 0 || real === tests.length, `${effect}: some tests would never be tried`);
  }
});

test("every test beside the sources must find its breakage, and of those under test/ one, the others being spared", async () => {
  const tried: string[] = [];
  const missed = (...files: string[]) =>
    missedBy(files, async (file) => {
      tried.push(file);
      return file.endsWith("red");
    });
  assert.deepEqual(await missed("a/red", "b/red"), []);
  assert.deepEqual(await missed("a/red", "b/green", "c/red"), ["b/green"]);
  assert.deepEqual(await missed("test/green"), ["test/green"]);
  tried.length = 0;
  assert.deepEqual(await missed("test/a.green", "test/b.red", "test/c.red"), []);
  assert.deepEqual(tried, ["test/a.green", "test/b.red"]);
});

test("no two breakages are the same, and each says what the product does then", () => {
  const changes = mutants.map(({ file, text, instead }) => [file, text, instead].join("\n"));
  assert.equal(new Set(changes).size, mutants.length);
  assert.equal(new Set(mutants.map(({ effect }) => effect)).size, mutants.length);
  for (const { breaks } of mutants) assert.ok(breaks === undefined || breaks in promises, breaks);
});

test("every promise has a breakage", () => {
  const broken = new Set(mutants.map(({ breaks }) => breaks));
  assert.deepEqual(
    Object.keys(promises).filter((number) => !broken.has(number)),
    [],
  );
});

test("after the first red test no other of its file is run, and all are counted", (t) => {
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
