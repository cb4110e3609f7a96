/**
 * docs/reference/promises.md: each promise, the tests that show it, and the commands that run these
 * tests. We find the tests by their names.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { commandOf, testFiles, type Tier, tierOf } from "#tools/build/tiers.ts";
import { importsOf } from "../rules/imports.ts";
import { table, type Row } from "./markdown.ts";
import { promises, prose, shownBy } from "./promises.ts";

/** A test: its file, its name as written in the source, and the lowest tier that runs the test. */
export type NamedTest = Readonly<{ file: string; name: string; tier: Tier }>;

const namePattern = /(?<![.\w])(?:t\.)?(test|longTest)\(\s*(["'`])((?:\\.|(?!\2).)*)/gs;
const tiers = Object.keys(commandOf) as Tier[];

/** The tests in a source. Only `test:all` runs a `longTest`, even if a lower tier runs the file. */
export const testsIn = (file: string, source: string, tier: Tier): readonly NamedTest[] =>
  Array.from(source.matchAll(namePattern), ([, functionName, , name = ""]) => ({
    file,
    name,
    tier: functionName === "longTest" ? "all" : tier,
  }));

/**
 * Every test of the checkout, except the tests of this page. Some test files import a file with
 * their tests, because they share a cluster or a table.
 */
export function allTests(): readonly NamedTest[] {
  const lowest = new Map<string, Tier>();
  const files = testFiles().filter((file) => file !== "tools/pages/promises.test.ts");
  for (const tier of tiers)
    for (const root of files.filter((file) => tierOf(file) === tier))
      for (const file of reached(root)) if (!lowest.has(file)) lowest.set(file, tier);
  return [...lowest.keys()]
    .toSorted()
    .flatMap((file) => testsIn(file, readFileSync(file, "utf8"), lowest.get(file) ?? "all"));
}

/** The file, and every imported file that can contain tests. */
function reached(file: string, files = new Set<string>()): ReadonlySet<string> {
  files.add(file);
  for (const { specifier } of importsOf(readFileSync(file, "utf8"))) {
    const target = specifier.startsWith("#") ? specifier.slice(1) : join(dirname(file), specifier);
    const mayHold =
      target.endsWith(".ts") && (target.startsWith("test/") || target.includes(".fixture."));
    if (mayHold && !files.has(target) && existsSync(target)) reached(target, files);
  }
  return files;
}

/** The mark of a file in the table: none if `npm test` runs the file. */
const markOf: Readonly<Record<Tier, string>> = { test: "", cluster: "¹", all: "²" };

/** The files that show a promise, the lowest tier first. */
function shownIn(showing: readonly NamedTest[]): string {
  const files = tiers.flatMap((tier) => {
    const ofTier = showing.filter((testCase) => testCase.tier === tier);
    const names = new Set(ofTier.map(({ file }) => file));
    return Array.from(names, (file) => `[${file}](../../${file})${markOf[tier]}`);
  });
  return files.join("<br>");
}

export function promisesPage(tests: readonly NamedTest[] = allTests()): string {
  const rows = Object.entries(promises).map(([key, sentence]): Row => {
    const showing = tests.filter(({ name }) => shownBy(name).includes(key));
    return [key, sentence, shownIn(showing)];
  });
  const described = Object.entries(prose).map(
    ([key, { sentence, page }]) => `| ${key} | ${sentence} | [${page}](../${page}) |`,
  );
  return `# Every promise, and the tests that show it

After this page you know which tests show a promise, and how to run them. The name of a test that shows a promise begins with the promise's number. [The command](../inside/testing.md#three-tiers) \`${commandOf.test}\` runs the files without a mark, \`${commandOf.cluster}\` those with ¹, and \`${commandOf.all}\` those with ².

${table(["number", "promise", "tests"], rows)}

## Stated, not shown

No test can show these promises. The page in the third column states each of them.

| number | promise | page |
| --- | --- | --- |
${described.join("\n")}
`;
}
