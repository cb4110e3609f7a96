import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import manifest from "../../package.json" with { type: "json" };

const folder = join(import.meta.dirname, "../../docs/inside/decisions");
const pages = readdirSync(folder).filter((name) => name !== "README.md");
const textOf = (page: string): string => readFileSync(join(folder, page), "utf8");

test("the index lists each decision once, with a question", () => {
  const rows = [...textOf("README.md").matchAll(/^- \[[A-Z][^\]]*\?\]\(([^)]+)\)$/gm)];
  assert.deepEqual(rows.map(([, page = ""]) => page).toSorted(), pages.toSorted());
});

test("ends each decision with the section 'How to tell that it was wrong'", () => {
  for (const page of pages) {
    const [, last = ""] =
      /^## (.*)$/m.exec(
        textOf(page)
          .split(/^(?=## )/m)
          .at(-1) ?? "",
      ) ?? [];
    assert.equal(last, "How to tell that it was wrong", page);
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

test("dependencies.md has a row for each package that our programs contain", () => {
  const rows = Array.from(
    textOf("dependencies.md").matchAll(/^\| `([^`]+)` \|/gm),
    ([, name]) => name,
  );
  assert.deepEqual(rows, Object.keys(manifest.dependencies).toSorted());
});
