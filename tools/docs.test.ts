import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pages } from "./docs.ts";

test("the pages about codes, flags and faults say what code and tests say", () => {
  for (const [file, text] of Object.entries(pages())) {
    assert.equal(
      readFileSync(file, "utf8"),
      text,
      `${file} is outdated: node build/run.mjs tools/docs.ts`,
    );
  }
});

test("a code has one meaning: each stands in one row of docs/errors.md", () => {
  const page = readFileSync("docs/errors.md", "utf8");
  const codes = Array.from(page.matchAll(/^\| (GPS\d+) \|/gm), ([, code = ""]) => code);
  assert.ok(codes.length > 100, `only ${codes.length}`);
  const again = codes.filter((code, at) => codes.indexOf(code) !== at);
  assert.deepEqual(again, []);
});

test("every test of test/faults is a row of docs/faults.md, under the name that the test's run shows", () => {
  const [page = ""] = readFileSync("docs/faults.md", "utf8").split("\n## Breakages\n");
  for (const file of globSync("test/faults/*.{test,fixture}.ts")) {
    const calls = readFileSync(file, "utf8").match(/(?<![.\w])(?:t\.)?test(?:\.\w+)?\(/g) ?? [];
    const rows = page.split("\n").filter((line) => line.endsWith(`| \`${file}\` |`));
    assert.equal(
      rows.length,
      calls.length,
      `${file}: give each test a plain string for a name, in the first column`,
    );
    for (const row of rows) assert.ok(!row.includes("${"), row);
  }
});

test("every link between the pages leads to a file", () => {
  const files = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "SUPPORT.md",
    ...readdirSync("docs", { recursive: true, encoding: "utf8" }).map((name) => join("docs", name)),
  ];
  for (const file of files.filter((name) => name.endsWith(".md"))) {
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(
      /\]\(([^)#:]+)(?:#[^)]*)?\)/g,
    )) {
      assert.ok(
        existsSync(join(dirname(file), target)),
        `${file} links to ${target}, which is not there`,
      );
    }
  }
});
