import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pages } from "./docs.ts";

test("the pages about codes, flags and faults say what code and tests say", () => {
  for (const [file, text] of Object.entries(pages())) {
    assert.equal(readFileSync(file, "utf8"), text, `${file} is outdated: node build/run.mjs build/docs.ts`);
  }
});

test("every link between the pages leads to a file", () => {
  const files = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...readdirSync("docs", { recursive: true, encoding: "utf8" }).map((name) => join("docs", name)),
  ];
  for (const file of files.filter((name) => name.endsWith(".md"))) {
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      assert.ok(existsSync(join(dirname(file), target)), `${file} links to ${target}, which is not there`);
    }
  }
});
