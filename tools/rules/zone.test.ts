import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** What of a Date is told, set or read in the machine's time zone. */
const local =
  /\.(?:[gs]et(?:Year|FullYear|Month|Date|Day|Hours|Minutes|Seconds|TimezoneOffset)|to(?:Date|Time|Locale\w*)String)\(|\bIntl\.|new Date\(\s*[\w.]+\s*,/;

test("every time is told in UTC: no source asks for the machine's zone", () => {
  for (const told of ["date.getHours()", "at.toLocaleTimeString()", "new Date(2026, 1, 1)"])
    assert.match(told, local);
  for (const utc of ["date.getUTCHours()", "at.toISOString()", "new Date(at)", "at.getTime()"])
    assert.doesNotMatch(utc, local);
  const files = globSync("**/*.{ts,mjs,cjs}", { exclude: ["node_modules/**", "dist/**"] });
  // The zones are what they are tested against.
  const meant = new Set(["tools/rules/zone.test.ts", "bench/result/page.test.ts"]);
  const asking = files.filter((file) => !meant.has(file) && local.test(readFileSync(file, "utf8")));
  assert.deepEqual(asking, []);
});
