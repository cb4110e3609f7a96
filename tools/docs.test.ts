import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pages } from "./docs.ts";

test("the generated pages match the code and tests they are written from", () => {
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

test("every file in the table of CONTRIBUTING.md exists", () => {
  const [, section = ""] = readFileSync("CONTRIBUTING.md", "utf8").split("## Where to change what");
  const table = section.match(/^\| .*$/gm)?.join("\n") ?? "";
  const files = Array.from(table.matchAll(/`([^`]*[/.][^`]*)`/g), ([, file = ""]) => file);
  assert.ok(files.length > 20, String(files.length));
  for (const file of files) assert.ok(existsSync(file), file);
});
