import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { wrapped } from "./markdown.ts";

const long = "word ".repeat(30).trim();

const table: readonly (readonly [what: string, text: string, wrapped?: RegExp])[] = [
  ["fills a paragraph again if a line is too long", `${long}\nend`, /^(?:word ?){20}\n.* end$/],
  ["keeps a short paragraph", "one\ntwo"],
  ["continues an item below its text", `- ${long}`, /^- (?:word ?){19}\n {2}word/],
  ["keeps text within fences", `\`\`\`sh\n${long}\n\`\`\``],
  ["keeps a table", `| a |\n| ${long} |`],
  ["keeps a heading", `# ${long}`],
  ["does not break code", `${"a".repeat(95)} \`npm test\``, /^a+\n`npm test`$/],
];

for (const [what, text, expected] of table)
  test(what, () => {
    const result = wrapped(text);
    if (expected === undefined) assert.equal(result, text);
    else assert.match(result, expected);
    assert.equal(wrapped(result), result);
  });

test("keeps the pages' prose within 100 columns", () => {
  const pages = globSync("**/*.md", { exclude: ["node_modules/**"] });
  const wide = pages.filter((page) => {
    const text = readFileSync(page, "utf8");
    return wrapped(text) !== text;
  });
  assert.deepEqual(wide, []);
});
