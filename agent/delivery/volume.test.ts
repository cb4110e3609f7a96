import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import {
  beside,
  digestFor,
  filesFor,
  grantFilesFor,
  noGrant,
  servedFilesFor,
} from "#test/harness/agent/mounted.ts";
import type { Grant } from "#contract/grant.ts";
import { publishedModes } from "#contract/names.ts";
import type { Mounted } from "./mount.ts";
import { readGrantIn, readVolume } from "./volume.ts";

const seven = { additional: { "a.io": "seven" } };
const six = { additional: { "a.io": "six" } };
const grant: Grant = {
  revision: 7,
  digest: digestFor(7, seven),
  since: "2026-11-26T18:25:07Z",
  word: false,
};
const files: Readonly<Record<string, string>> = {
  ...filesFor(7, seven),
  ...beside,
  ...servedFilesFor(6, six),
  ...grantFilesFor(grant),
};

function mount(t: TestContext, all: Readonly<Record<string, string>>): string {
  const directory = temporary(t);
  mkdirSync(join(directory, "..1"));
  for (const [name, text] of Object.entries(all)) writeFileSync(join(directory, "..1", name), text);
  symlinkSync("..1", join(directory, "..data"));
  return directory;
}

test("waits for a volume that is missing, incomplete or replaced while it is read", (t) => {
  assert.equal(readVolume("/nonexistent", "Restart").mounted.kind, "incomplete");
  assert.equal(readGrantIn("/nonexistent"), "unread");
  for (const missing of Object.keys(files)) {
    const half = Object.fromEntries(Object.entries(files).filter(([name]) => name !== missing));
    const { mounted } = readVolume(mount(t, half), "Restart");
    assert.equal(mounted.kind, "incomplete", missing);
  }
  const swapped = mount(t, files);
  assert.deepEqual(readVolume(swapped, "Restart").grant, grant);
  rmSync(join(swapped, "..1"), { recursive: true });
  for (const target of ["..1", "..2"]) {
    assert.equal(readVolume(swapped, "Restart").mounted.kind, "incomplete");
    assert.equal(readGrantIn(swapped), "unread");
    symlinkSync(target, join(swapped, "tmp"));
    renameSync(join(swapped, "tmp"), join(swapped, "..data"));
  }
});

const grantOf = (revision: number, digest = "") => grantFilesFor({ ...grant, revision, digest });

/** The selection as text: `7 served`, `other 7`, … */
function shown(mounted: Mounted): string {
  if (mounted.kind === "document")
    return `${mounted.revision}${mounted.served === true ? " served" : ""}`;
  if (mounted.kind === "nothing") return mounted.releasing ? "nothing, releasing" : "nothing";
  if (mounted.kind !== "other") return mounted.kind;
  return ["other", mounted.revision, mounted.why].filter(Boolean).join(" ");
}

const same = servedFilesFor(7, "same");
const release = { ...filesFor(7, {}), ...servedFilesFor(0, "same") };
const empty = { ...beside, ...servedFilesFor(0, "same") };
const rows: readonly (readonly [when: string, change: Readonly<Record<string, string>>, string])[] =
  [
    ["the newest content is granted", {}, "7"],
    ["the served content is granted", grantOf(6, digestFor(6, six)), "6"],
    ["the newest content is also served", { ...empty, ...same }, "7"],
    [
      "the newest number is granted with other content",
      grantOf(7, "x"),
      "other 7 with other content",
    ],
    [
      "the served number is granted with other content",
      grantOf(6, "x"),
      "other 7 with other content",
    ],
    ["the grant is ahead of the Secret", grantOf(8, "x"), "other 7"],
    ["the Secret is ahead of the grant", grantOf(5, "x"), "other 7"],
    [
      "the grant names content that is not served any more",
      { ...empty, ...grantOf(6, digestFor(6, six)) },
      "other 7",
    ],
    ["nothing is granted", noGrant, "6 served"],
    ["nothing is granted, and the newest is served", { ...noGrant, ...empty, ...same }, "7 served"],
    ["nothing is granted and nothing served", { ...noGrant, ...empty }, "nothing"],
    ["a grant is revoked", grantOf(0), "6 served"],
    ["a withdrawal, and nothing is granted", { ...noGrant, ...release }, "nothing, releasing"],
    [
      "the annotations have no `since`, and so are not a grant",
      { ...grantFilesFor({ ...grant, since: "" }) },
      "6 served",
    ],
    ["the Secret is for another mode", { mode: "Reread" }, "other 7 for another delivery mode"],
    [
      "the Secret is for another mode, and nothing is granted",
      { mode: "Reread", ...noGrant },
      "nothing",
    ],
    [
      "a release for another mode",
      { ...release, mode: "Reread", ...grantOf(7, digestFor(7, {})) },
      "7",
    ],
    ["the served document is damaged", { ...noGrant, "served..dockerconfigjson": "{" }, "refused"],
    ["the served revision is not a number", { "served.revision": "" }, "incomplete"],
  ];
for (const [when, change, expected] of rows)
  test(`selects the right content when ${when}`, (t) => {
    const all = { ...files, ...change };
    assert.equal(shown(readVolume(mount(t, all), "Restart").mounted), expected);
  });

for (const mode of publishedModes)
  test(`in mode ${mode}, takes only content of this mode, or a release`, (t) => {
    const granted = { ...release, ...grantOf(7, digestFor(7, {})) };
    for (const its of publishedModes) {
      const isOurs = its === mode;
      const kindOf = (change: Readonly<Record<string, string>>) =>
        readVolume(mount(t, { ...files, ...change, mode: its }), mode).mounted.kind;
      assert.equal(kindOf({}), isOurs ? "document" : "other", its);
      assert.equal(kindOf(noGrant), isOurs ? "document" : "nothing", its);
      assert.equal(kindOf(granted), "document", its);
    }
  });

test("reads no more of a slot than the API server's limit for a Secret", (t) => {
  const huge = " ".repeat(1024 * 1024 + 1);
  const { mounted } = readVolume(mount(t, { ...files, ".dockerconfigjson": huge }), "Restart");
  assert.equal(mounted.kind, "refused");
  const served = { ...files, ...noGrant, "served..dockerconfigjson": huge };
  assert.equal(readVolume(mount(t, served), "Restart").mounted.kind, "refused");
  const long = { ...files, "grant.since": "2".repeat(1024 * 1024) };
  assert.equal(readVolume(mount(t, long), "Restart").grant, "none");
});
