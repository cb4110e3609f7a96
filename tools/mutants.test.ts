import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { mutants } from "../test/mutants/list.ts";
import { promises } from "./promises.ts";

test("what a breakage changes stands exactly once in its file, and its tests are there", () => {
  for (const { effect, file, text, instead, tests } of mutants) {
    const found = readFileSync(file, "utf8").split(text).length - 1;
    assert.equal(found, 1, `${file} has ${found} times: ${text}`);
    assert.notEqual(text, instead, effect);
    assert.ok(tests.length > 0, effect);
    for (const one of tests) assert.ok(existsSync(one), one);
  }
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
