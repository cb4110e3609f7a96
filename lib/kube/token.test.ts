import assert from "node:assert/strict";
import { test } from "node:test";
import { ageOfToken, type Age } from "./token.ts";

const ages: readonly (readonly [issued: number, expires: number, now: number, age: Age])[] = [
  [0, 100, 49, "fresh"],
  [0, 100, 50, "due"],
  [0, 100, 99, "due"],
  [0, 100, 100, "expired"],
  [Number.NaN, 100, 50, "unknown"],
  [Number.NaN, 100, 100, "unknown"],
  [0, Number.NaN, 50, "unknown"],
];
for (const [issued, expires, now, age] of ages)
  test(`at ${now}, counts a token that is valid from ${issued} to ${expires} as ${age}`, () =>
    assert.equal(ageOfToken({ issued, expires }, now), age));
