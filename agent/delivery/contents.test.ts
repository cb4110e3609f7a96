import assert from "node:assert/strict";
import test from "node:test";
import { beside, digestFor, filesFor, servedFilesFor } from "#test/harness/agent/mounted.ts";
import { publishedModes } from "#contract/names.ts";
import { readContents } from "./contents.ts";

const seven = { additional: { "a.io": "seven" } };
const six = { additional: { "https://a.io": "six", "b.io": "six" } };
const files: Readonly<Record<string, string>> = {
  ...filesFor(7, seven),
  ...beside,
  ...servedFilesFor(6, six),
};

type Files = Readonly<Record<string, string>>;

function contentsOf(change: Files, mode: (typeof publishedModes)[number] = "Restart") {
  const all: Files = { ...files, ...change };
  return readContents((key) => Buffer.from(all[key] ?? ""), mode);
}

/** The contents as text: `7`, `7 and 6 served`, `release 7`, or why there are none. */
function shown(change: Files): string {
  const contents = contentsOf(change);
  if (contents.kind !== "contents") return contents.kind;
  const { newest, served } = contents;
  const intent = newest.isRelease ? "release " : "";
  const and = served === undefined ? "" : ` and ${served.revision} served`;
  return `${intent}${newest.revision}${and}`;
}

const rows: readonly (readonly [when: string, change: Files, expected: string])[] = [
  ["older content is served", {}, "7 and 6 served"],
  ["the newest content is served", servedFilesFor(7, "same"), "7 and 7 served"],
  [
    "the newest content is served, whatever the other slot has",
    { ...servedFilesFor(7, "same"), "served..dockerconfigjson": "{" },
    "7 and 7 served",
  ],
  [
    "later content is served",
    { ...servedFilesFor(8, "same"), "served..dockerconfigjson": "{" },
    "7 and 7 served",
  ],
  ["nothing is served", servedFilesFor(0, "same"), "7"],
  ["everything is withdrawn", { ...filesFor(7, {}), ...servedFilesFor(0, "same") }, "release 7"],
  [
    "everything is withdrawn, whatever the other slot has",
    { ...filesFor(7, {}), "served..dockerconfigjson": "{" },
    "release 7 and 7 served",
  ],
  ["the newest content is damaged", { ".dockerconfigjson": "{" }, "refused"],
  ["the served content is damaged", { "served..dockerconfigjson": "{" }, "refused"],
  ["a revision is missing", { revision: "" }, "incomplete"],
  ["the served revision is missing", { "served.revision": "" }, "incomplete"],
];
for (const [when, change, expected] of rows)
  test(`reads ${expected} if ${when}`, () => assert.equal(shown(change), expected));

test("serves no registry that the newest content has removed, in any spelling", () => {
  const contents = contentsOf({});
  assert.ok(contents.kind === "contents");
  assert.deepEqual(
    contents.served?.entries.map(({ key }) => key),
    ["a.io"],
  );
  assert.equal(contents.newest.digest, digestFor(7, seven));
  assert.equal(contents.served?.digest, digestFor(6, six));
});

test("names its own mode only", () => {
  for (const mode of publishedModes) {
    const contents = contentsOf({ mode: "Reread" }, mode);
    assert.equal(contents.kind === "contents" && contents.isOurMode, mode === "Reread");
  }
});
