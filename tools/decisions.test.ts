import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const folder = join(import.meta.dirname, "../docs/decisions");
const pages = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));

test("the index names every decision once, in order, with a status", () => {
  const index = readFileSync(join(folder, "README.md"), "utf8");
  const rows = [...index.matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| [^|]+ \| [^|]+ \|$/gm)];
  assert.deepEqual(
    rows.map(([, , page]) => page),
    pages.toSorted(),
  );
  for (const [, number, page] of rows) assert.ok(page?.startsWith(`${number}-`), page);
});

test("a decision is a page: 60 lines at most", () => {
  for (const page of pages)
    assert.ok(readFileSync(join(folder, page), "utf8").split("\n").length <= 61, page);
});
