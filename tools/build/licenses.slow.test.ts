/** Slow: bundles every program, which takes seconds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import { bundles } from "./bundle.ts";
import { licensesOf } from "./licenses.ts";

const root = join(import.meta.dirname, "../..");

test("lists every bundled package with its licence and its licence text", async () => {
  const packages = new Set((await bundles()).flatMap(({ packages: all }) => Array.from(all)));
  const text = licensesOf(packages, root);
  for (const folder of packages) {
    const name = folder.replace(/^.*node_modules\//, "");
    assert.match(text, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\S*: \\S`, "m"), name);
  }
  assert.doesNotMatch(text, /: see below\n\nby /, "neither named nor shipped");
  assert.ok(text.match(/Permission is hereby granted/g), "of MIT's, their text");
});
