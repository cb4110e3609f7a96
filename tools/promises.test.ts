import assert from "node:assert/strict";
import { test } from "node:test";
import { allTests, numbersIn, promises, shownBy, testNames } from "./promises.ts";

const tests = allTests();

test("every promise is shown by a test that begins with its number", () => {
  const shown = new Set(tests.flatMap(({ name }) => shownBy(name)));
  assert.deepEqual(
    Object.keys(promises).filter((number) => !shown.has(number)),
    [],
  );
});

test("every number in a test's name is that of a promise, and stands at its beginning", () => {
  for (const { file, name } of tests) {
    for (const number of numbersIn(name)) assert.ok(number in promises, `${file}: ${number}`);
    assert.deepEqual(numbersIn(name), shownBy(name), `${file}: ${name}`);
  }
});

test("names are read in every way that tests write them", () => {
  const source = [
    'test("H1: one", () => {});',
    '  test(`H2, HD: ${sentence} is "so"`, async () => {});',
    'test(\n  "H3: wrapped",\n',
    'of.test("no test of ours");',
  ].join("\n");
  const names = ["H1: one", 'H2, HD: ${sentence} is "so"', "H3: wrapped"];
  assert.deepEqual(testNames(source), names);
  assert.deepEqual(names.map(shownBy), [["H1"], ["H2", "HD"], ["H3"]]);
  for (const wrong of ["H1 H2: two without a comma", "as in H1", "H1 is no head"])
    assert.deepEqual(shownBy(wrong), []);
});
