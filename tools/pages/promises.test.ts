import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { allTests, type NamedTest, promisesPage, testsIn } from "./promises-page.ts";
import { numbersIn, promises, prose, shownBy, shownOf } from "./promises.ts";

const tests = allTests();

/** First letter of a document's promises → their last number (the first is 1). HD is extra. */
const asked = { H: 25, K: 13, L: 33, M: 13 };

test("has a promise, shown by tests or stated on a page, for each number of each document", () => {
  const expected = Object.entries(asked).flatMap(([letter, last]) =>
    Array.from({ length: last }, (_, index) => `${letter}${index + 1}`),
  );
  const numbers = [...Object.keys(promises), ...Object.keys(prose)];
  assert.deepEqual(numbers.toSorted(), [...expected, "HD"].toSorted());
});

const withoutTest = (among: readonly NamedTest[]) => {
  const shown = new Set(among.flatMap(({ name }) => shownBy(name)));
  return Object.keys(promises).filter((number) => !shown.has(number));
};

test("every promise is shown by a test that begins with its number", () => {
  assert.deepEqual(withoutTest(tests), []);
  const others = tests.filter(({ name }) => !shownBy(name).includes("H22"));
  assert.deepEqual(
    withoutTest(others).filter((number) => number === "H22"),
    ["H22"],
  );
});

test("every number in a test's name belongs to a promise, and is at the beginning of the name", () => {
  for (const { file, name } of tests) {
    for (const number of numbersIn(name)) assert.ok(number in promises, `${file}: ${number}`);
    assert.deepEqual(numbersIn(name), shownBy(name), `${file}: ${name}`);
  }
});

test("lists promises without a test separately, each with a heading of its page", () => {
  const [shown = "", said = ""] = promisesPage([]).split("## Stated, not shown");
  for (const [number, { page, sentence }] of Object.entries(prose)) {
    const [file = "", anchor = ""] = page.split("#");
    const headings = [...readFileSync(`docs/${file}`, "utf8").matchAll(/^#+ (.*)$/gm)];
    const anchors = headings.map(([, words = ""]) =>
      words
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, "")
        .replaceAll(" ", "-"),
    );
    assert.ok(anchors.includes(anchor), `${number}: ${page}`);
    assert.ok(said.includes(`| ${number} | ${sentence} | [${page}](../${page}) |`), number);
    assert.ok(!shown.includes(`| ${number} |`), number);
  }
});

test("lists beside each promise the files of every tier that shows it, the lowest tier first", () => {
  const page = promisesPage([
    { file: "test/e2e/a.test.ts", name: "H1, H2: a", tier: "cluster" },
    { file: "agent/b.test.ts", name: "H1: b", tier: "test" },
    { file: "agent/b.test.ts", name: "H1: b again", tier: "test" },
  ]);
  const shownBy = (number: string) =>
    new RegExp(`^\\| ${number} \\| [^|]+ \\| (.*) \\|$`, "m").exec(page)?.[1];
  const [unit, real] = ["agent/b.test.ts", "test/e2e/a.test.ts"].map(
    (file) => `[${file}](../../${file})`,
  );
  assert.ok(page.includes("`npm run test:cluster` those with ¹"));
  assert.equal(shownBy("H1"), `${unit}<br>${real}¹`);
  assert.equal(shownBy("H2"), `${real}¹`);
});

test("assigns every file with tests to the lowest tier that imports it", () => {
  const tierByFile = new Map(tests.map(({ file, tier }) => [file, tier]));
  assert.equal(tierByFile.get("plugin/cases.fixture.ts"), "test");
  const exclude = ["node_modules/**", "dist/**", "tools/pages/promises.test.ts"];
  const files = globSync(["**/*.{test,fixture}.ts", "test/**/*.ts"], { exclude });
  const holding = files.filter(
    (file) => testsIn(file, readFileSync(file, "utf8"), "all").length > 0,
  );
  assert.deepEqual(
    holding.filter((file) => !tierByFile.has(file)),
    [],
  );
});

test("counts each promise once, even if several tests show it", () => {
  const none = shownOf([]);
  assert.deepEqual(none, {
    H: { shown: 0, of: 26 },
    K: { shown: 0, of: 11 },
    L: { shown: 0, of: 33 },
    M: { shown: 0, of: 12 },
  });
  const names = ["H1, H2: a", "HD: b", "H1: c", "L3: d", "K10: on a page only", "as in M1"];
  assert.deepEqual(shownOf(names), {
    ...none,
    H: { shown: 3, of: 26 },
    L: { shown: 1, of: 33 },
  });
});

test("reads test names in every form that tests use", () => {
  const source = [
    'test("H1: one", () => {});',
    '  test(`H2, HD: ${sentence} is "so"`, async () => {});',
    'test(\n  "H3: wrapped",\n',
    'longTest("H4: of test:all", () => {});',
    'of.test("no test of ours");',
  ].join("\n");
  const names = ["H1: one", 'H2, HD: ${sentence} is "so"', "H3: wrapped", "H4: of test:all"];
  const namedTests = testsIn("a.test.ts", source, "cluster");
  assert.deepEqual(
    namedTests.map(({ name }) => name),
    names,
  );
  assert.deepEqual(
    namedTests.map(({ tier }) => tier),
    ["cluster", "cluster", "cluster", "all"],
  );
  assert.deepEqual(names.map(shownBy), [["H1"], ["H2", "HD"], ["H3"], ["H4"]]);
  for (const wrong of ["H1 H2: two without a comma", "as in H1", "H1 is no head"])
    assert.deepEqual(shownBy(wrong), []);
});
