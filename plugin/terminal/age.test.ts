import assert from "node:assert/strict";
import { test } from "node:test";
import { age, span } from "./output.ts";

const [minute, hour, day] = [60, 3600, 86_400];

for (const [seconds, shown] of [
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [150, "2m30s"],
  [10 * minute + 30, "10m"],
  [179 * minute, "179m"],
  [180 * minute, "3h"],
  [3 * hour + minute, "3h1m"],
  [8 * hour + minute, "8h"],
  [47 * hour, "47h"],
  [2 * day, "2d"],
  [2 * day + hour, "2d1h"],
  [8 * day + hour, "8d"],
  [729 * day, "729d"],
  [730 * day, "2y"],
  [731 * day, "2y1d"],
  [8 * 365 * day + day, "8y"],
] as const)
  test(`prints ${seconds} seconds as ${shown}, as kubectl does`, () => {
    assert.equal(span(seconds), shown);
  });

test("counts the age from the given time, and never below 0", () => {
  const now = Date.parse("2026-11-23T09:00:30Z");
  assert.equal(age("2026-11-23T09:00:00Z", now), "30s");
  assert.equal(age("2026-11-23T10:00:00Z", now), "0s");
  assert.equal(age("yesterday", now), "");
});
