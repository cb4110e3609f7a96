import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { moved } from "#controller/policy/flags/moved-flags.ts";

const folder = join(import.meta.dirname, "../../docs/decisions");
const pages = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));
const textOf = (page: string): string => readFileSync(join(folder, page), "utf8");

test("names every decision once in the index, in order, with a status", () => {
  const index = readFileSync(join(folder, "README.md"), "utf8");
  const rows = [...index.matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| ([^|]+) \| [^|]+ \|$/gm)];
  assert.deepEqual(
    rows.map(([, , page]) => page),
    pages.toSorted(),
  );
  for (const [, number, page = "", title] of rows) {
    assert.ok(page.startsWith(`${number}-`), page);
    assert.equal(textOf(page).split("\n")[0], `# ${Number(number)}. ${title}`);
  }
});

test("names only existing files in a decision", () => {
  const files = globSync("**/*.ts", { exclude: ["node_modules/**"] });
  for (const page of pages)
    for (const [, name = ""] of textOf(page).matchAll(/`([\w./-]+\.ts)`/g))
      assert.ok(
        files.some((file) => file === name || file.endsWith(`/${name}`)),
        `${page}: ${name}`,
      );
});

test("names no flag in a decision that has become a field of GlobalPullSecret", () => {
  for (const page of pages)
    for (const flag of Object.keys(moved))
      assert.doesNotMatch(textOf(page), new RegExp(`--${flag}\\b(?!-)`), page);
});
