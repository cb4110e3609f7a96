import assert from "node:assert/strict";
import { test } from "node:test";
import { contestOfGuest } from "./contest.ts";

const content = { type: "Opaque", data: { a: "eA==" } };
const other = { type: "Opaque", data: { a: "eQ==" } };

for (const [what, wanted] of [
  ["a content is written", content],
  ["it is taken away", undefined],
] as const)
  test(`${what} five times at once, and then once a minute; for another content that begins anew`, () => {
    const one = contestOfGuest();
    const start = Math.ceil(performance.now());
    for (let n = 0; n < 5; n++) {
      assert.equal(one.lostUntil(wanted, start), undefined);
      one.wrote(wanted, start);
    }
    assert.equal(one.lostUntil(wanted, start), start + 60_000);
    assert.equal(one.lostUntil(other, start), undefined);
    assert.equal(one.lostUntil(wanted, start + 60_000), undefined);
    one.wrote(wanted, start + 60_000);
    assert.equal(one.lostUntil(wanted, start + 60_000), start + 120_000);
    one.wrote(other, start + 60_000);
    assert.equal(one.lostUntil(other, start + 60_000), undefined);
  });
