import assert from "node:assert/strict";
import { test } from "node:test";
import { expiresAnnotation, issuedAnnotation } from "#contract/joined/names.ts";
import { ageOf } from "./token.ts";

const secret = (issued: string, expires: string) => ({
  metadata: { annotations: { [issuedAnnotation]: issued, [expiresAnnotation]: expires } },
});
const month = secret("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");

const cases: readonly (readonly [now: string, age: ReturnType<typeof ageOf>])[] = [
  ["2026-11-01T00:00:00Z", "fresh"],
  ["2026-11-15T23:59:59Z", "fresh"],
  ["2026-11-16T00:00:00Z", "due"],
  ["2026-11-30T23:59:59Z", "due"],
  ["2026-12-01T00:00:00Z", "expired"],
];
for (const [now, age] of cases)
  test(`a token of November is ${age} at ${now}`, () =>
    assert.equal(ageOf(month, Date.parse(now)), age));

test("a token whose times nobody wrote down is left as it is", () => {
  assert.equal(ageOf(undefined, 0), "unknown");
  assert.equal(ageOf({}, 0), "unknown");
  assert.equal(ageOf(secret("yesterday", "2026-12-01T00:00:00Z"), 0), "unknown");
});
