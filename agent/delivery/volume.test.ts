import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { beside, filesFor, servedFilesFor } from "#test/harness/agent/mounted.ts";
import { readContents } from "./contents.ts";
import { readVolume } from "./volume.ts";

const files: Readonly<Record<string, string>> = {
  ...filesFor(7, { additional: { "a.io": "seven" } }),
  ...beside,
  ...servedFilesFor(6, { additional: { "a.io": "six" } }),
};

function mount(t: TestContext, all: Readonly<Record<string, string>>): string {
  const directory = temporary(t);
  mkdirSync(join(directory, "..1"));
  for (const [name, text] of Object.entries(all)) writeFileSync(join(directory, "..1", name), text);
  symlinkSync("..1", join(directory, "..data"));
  return directory;
}

const read = (directory: string) => readVolume(directory, (file) => readContents(file, "Restart"));

test("waits for a volume that is missing, incomplete or replaced while it is read", (t) => {
  assert.equal(read("/nonexistent").kind, "incomplete");
  for (const missing of Object.keys(files)) {
    const half = Object.fromEntries(Object.entries(files).filter(([name]) => name !== missing));
    assert.equal(read(mount(t, half)).kind, "incomplete", missing);
  }
  const swapped = mount(t, files);
  assert.equal(read(swapped).kind, "contents");
  rmSync(join(swapped, "..1"), { recursive: true });
  for (const target of ["..1", "..2"]) {
    assert.equal(read(swapped).kind, "incomplete");
    symlinkSync(target, join(swapped, "tmp"));
    renameSync(join(swapped, "tmp"), join(swapped, "..data"));
  }
});

for (const [failures, tries, kind] of [
  [0, 1, "refused"],
  [2, 3, "refused"],
  [3, 3, "incomplete"],
] as const)
  test(`tries ${tries} times if ${failures} reads fail`, (t) => {
    let begun = 0;
    const contents = readVolume(mount(t, files), (file) => {
      file((begun += 1) <= failures ? "absent" : "revision");
      return { kind: "refused", why: "read" };
    });
    assert.deepEqual(contents, { kind, why: kind === "refused" ? "read" : "ENOENT" });
    assert.equal(begun, tries);
  });

test("waits while the volume is empty, because the Secret does not exist", (t) => {
  assert.equal(read(mount(t, {})).kind, "incomplete");
});

test("reads no more of a file than one byte over the limit", (t) => {
  const directory = mount(t, { large: "x".repeat(3 * 1024 * 1024) });
  let length = 0;
  readVolume(directory, (file) => {
    length = file("large").length;
    return { kind: "incomplete", why: "" };
  });
  assert.equal(length, 1024 * 1024 + 1);
});
