import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { freshBundle, stamp } from "./bundle.ts";
import { isCurrent, stampOf } from "./stamp.ts";

/** The change, and whether the record still matches. */
const table: readonly (readonly [string, (source: string, built: string) => void, boolean])[] = [
  ["nothing changed", () => {}, true],
  ["the same content has a newer time", (source) => utimesSync(source, 2e9, 2e9), true],
  [
    "a copy that keeps its old time replaces a source",
    (source) => {
      writeFileSync(source, "other");
      utimesSync(source, 1, 1);
    },
    false,
  ],
  ["a source is deleted", (source) => rmSync(source), false],
  ["an output is deleted", (_, built) => rmSync(built), false],
  ["an output is replaced", (_, built) => writeFileSync(built, "older"), false],
];

for (const [when, change, expected] of table)
  test(`builds ${expected ? "nothing" : "again"} when ${when}`, (t) => {
    const folder = temporary(t);
    const [source, built, record] = ["a.ts", "a.cjs", "stamp"].map((name) => join(folder, name));
    assert.ok(source !== undefined && built !== undefined && record !== undefined);
    assert.equal(isCurrent(record), false);
    for (const path of [source, built]) writeFileSync(path, path);
    writeFileSync(record, stampOf([source, built]));
    change(source, built);
    assert.equal(isCurrent(record), expected);
  });

test("records every program, its sources, its packages and how it is built", async () => {
  const [first = ""] = await freshBundle();
  const recorded = Object.keys(JSON.parse(readFileSync(stamp, "utf8")) as object);
  for (const path of [
    first,
    "dist/kubectl-pull_secret",
    "agent/main.ts",
    "plugin/main.ts",
    "lib/contract/names.ts",
    "node_modules/pino/pino.js",
    "tools/build/bundle.ts",
    "package-lock.json",
  ])
    assert.ok(recorded.includes(path), path);
  const { ino } = statSync(first);
  await freshBundle();
  assert.equal(statSync(first).ino, ino);
});
