import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import { licensesOf } from "./licenses.ts";

const root = join(import.meta.dirname, "../..");

test("names the author of a package without a licence text", () => {
  const text = licensesOf(new Set(["node_modules/stream-buffers"]), root);
  assert.match(text, /^stream-buffers \S+: Unlicense\n\nby \S+/);
});
