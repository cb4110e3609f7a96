import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { wrapped } from "./markdown.ts";

const long = "word ".repeat(30).trim();

const table: readonly (readonly [what: string, text: string, wrapped?: RegExp])[] = [
  [
    "a paragraph is filled anew where a line is too long",
    `${long}\nend`,
    /^(?:word ?){20}\n.* end$/,
  ],
  ["a short one stays as it is", "one\ntwo"],
  ["an item goes on below its text", `- ${long}`, /^- (?:word ?){19}\n {2}word/],
  ["what is within fences stays", `\`\`\`sh\n${long}\n\`\`\``],
  ["a table stays", `| a |\n| ${long} |`],
  ["a heading stays", `# ${long}`],
  ["code is not parted", `${"a".repeat(95)} \`npm test\``, /^a+\n`npm test`$/],
];

for (const [what, text, expected] of table)
  test(what, () => {
    const result = wrapped(text);
    if (expected === undefined) assert.equal(result, text);
    else assert.match(result, expected);
    assert.equal(wrapped(result), result);
  });

test("the pages' prose has lines of at most 100 columns", () => {
  const pages = globSync("**/*.md", { exclude: ["node_modules/**"] });
  const wide = pages.filter((page) => {
    const text = readFileSync(page, "utf8");
    return wrapped(text) !== text;
  });
  assert.deepEqual(wide, []);
});
