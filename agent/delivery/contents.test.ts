import assert from "node:assert/strict";
import test from "node:test";
import { beside, digestFor, filesFor, servedFilesFor } from "#test/harness/agent/mounted.ts";
import { publishedModes } from "#contract/names.ts";
import { type Choice, selectContent } from "./contents.ts";
import type { Mounted } from "./mount.ts";

const seven = { additional: { "a.io": "seven" } };
const six = { additional: { "a.io": "six", "b.io": "six" } };
const files: Readonly<Record<string, string>> = {
  ...filesFor(7, seven),
  ...beside,
  ...servedFilesFor(6, six),
};
const same = servedFilesFor(7, "same");
const release = { ...filesFor(7, {}), ...servedFilesFor(0, "same") };
const empty = { ...beside, ...servedFilesFor(0, "same") };
const named = (revision: number, digest: string) => ({ revision, digest, attempt: 1 });
const newest = named(7, digestFor(7, seven));
const served = named(6, digestFor(6, six));
const unpublished = named(8, "x");

function select(change: Readonly<Record<string, string>>, choice: Partial<Choice>) {
  const all: Readonly<Record<string, string>> = { ...files, ...change };
  const read = (key: string) => Buffer.from(all[key] ?? "");
  return selectContent(read, { order: undefined, kept: undefined, mode: "Restart", ...choice });
}

/** The selection as text: `7 served`, `other 7`, … */
function shown(mounted: Mounted): string {
  if (mounted.kind === "document")
    return `${mounted.revision}${mounted.served === true ? " served" : ""}`;
  if (mounted.kind !== "other") return mounted.kind;
  return ["other", mounted.revision, mounted.why].filter(Boolean).join(" ");
}

const rows: readonly (readonly [
  when: string,
  change: Readonly<Record<string, string>>,
  choice: Partial<Choice>,
  expected: string,
])[] = [
  ["the newest content is ordered", {}, { order: newest }, "7"],
  ["the served content is ordered", {}, { order: served }, "6"],
  ["the newest content is also served", { ...empty, ...same }, { order: newest }, "7"],
  [
    "the newest number is ordered with other content",
    {},
    { order: named(7, "x") },
    "other 7 with other content",
  ],
  [
    "the served number is ordered with other content",
    {},
    { order: named(6, "x") },
    "other 7 with other content",
  ],
  ["the order is ahead of the Secret", {}, { order: unpublished }, "other 7"],
  ["the Secret is ahead of the order", {}, { order: named(5, "x") }, "other 7"],
  ["the ordered content is not served any more", empty, { order: served }, "other 7"],
  [
    "the order is ahead, and the node has served content",
    {},
    { order: unpublished, kept: served },
    "6",
  ],
  ["nothing is ordered, and the node has the newest content", {}, { kept: newest }, "7"],
  ["nothing is ordered, and the node has other content", {}, { kept: named(5, "x") }, "other 7"],
  ["the node has no content", {}, {}, "6 served"],
  ["the node has no content, and the newest is served", { ...empty, ...same }, {}, "7 served"],
  ["the node has no content, and nothing is served", empty, {}, "nothing"],
  ["a withdrawal, and nothing is ordered", release, {}, "7"],
  ["a withdrawal, and other content is ordered", release, { order: served }, "7"],
  ["a withdrawal, and the node has content", release, { kept: served }, "7"],
  [
    "the Secret is for another mode",
    { mode: "Reread" },
    { order: newest },
    "other 7 for another delivery mode",
  ],
  ["the Secret is for another mode, and nothing is ordered", { mode: "Reread" }, {}, "nothing"],
  ["a withdrawal for another mode", { ...release, mode: "Reread" }, { order: newest }, "7"],
  ["the served document is damaged", { "served..dockerconfigjson": "{" }, {}, "refused"],
  ["the served revision is not a number", { "served.revision": "" }, {}, "incomplete"],
];
for (const [when, change, choice, expected] of rows)
  test(`selects the right content when ${when}`, () =>
    assert.equal(shown(select(change, choice).mounted), expected));

for (const mode of publishedModes)
  test(`in mode ${mode}, takes only content of this mode, or a withdrawal`, () => {
    for (const its of publishedModes) {
      const isOurs = its === mode;
      const kindOf = (change: Readonly<Record<string, string>>, choice: Partial<Choice>) =>
        select({ ...change, mode: its }, { mode, ...choice }).mounted.kind;
      assert.equal(kindOf({}, { order: newest }), isOurs ? "document" : "other", its);
      assert.equal(kindOf({}, {}), isOurs ? "document" : "nothing", its);
      assert.equal(kindOf(release, {}), "document", its);
    }
  });

test("compares registries as the kubelet does, and takes no registry that the newest content has removed", () => {
  const { mounted, newest: content } = select({}, {});
  assert.ok(mounted.kind === "document");
  assert.deepEqual([...mounted.desired.entries.keys()], ["a.io"]);
  assert.equal(content?.revision, 7);
  const registries = ["a.io", "https://a.io/v1/", "b.io", "sub.a.io"];
  assert.deepEqual(
    registries.map((registry) => content?.has(registry)),
    [true, true, false, false],
  );
});

test("names no newest content that it does not accept, and none of a withdrawal", () => {
  for (const change of [release, { ".dockerconfigjson": "{" }, { revision: "x" }])
    assert.equal(select(change, {}).newest, undefined);
});

test("reads no more of a slot than the API server's limit for a Secret", () => {
  const huge = " ".repeat(1024 * 1024 + 1);
  assert.equal(select({ ".dockerconfigjson": huge }, { order: newest }).mounted.kind, "refused");
  assert.equal(select({ "served..dockerconfigjson": huge }, {}).mounted.kind, "refused");
});
