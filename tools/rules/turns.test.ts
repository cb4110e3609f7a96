/** What every `npm test` runs shows what the product is for; what takes turns is its edges. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { reached } from "#build/lanes.ts";
import { turns } from "#build/turns.ts";
import { allTests, promises, shownBy } from "../pages/promises.ts";

/** Joined clusters, and a walk-through in two clusters of nodes: 389 and 459 s of the machine. */
const inTurns = /^M\d+$|^L33$/;

test("each numbered promise but those of joined clusters has a test that every run makes", () => {
  const always = globSync("**/*.test.ts", { exclude: ["node_modules/**"] }).filter(
    (file) => !turns.includes(file) && !file.endsWith(".long.test.ts"),
  );
  const made = new Set(always);
  for (const file of always) for (const one of reached(file)) made.add(one);
  const shown = new Set(
    allTests()
      .filter(({ file, long }) => made.has(file) && !long)
      .flatMap(({ name }) => shownBy(name)),
  );
  const left = Object.keys(promises).filter((key) => !shown.has(key) && !inTurns.test(key));
  assert.deepEqual(left, []);
});
