import assert from "node:assert/strict";
import { test } from "node:test";
import { catalogues } from "./errors.ts";

test("a code says plainly what to do, and says so where no action is needed", () => {
  for (const [code, meaning, next] of catalogues.flatMap((one) => Object.values(one)))
    for (const words of [meaning, next])
      assert.doesNotMatch(words, /^nothing[,;]|\b(?:is|are) meant\b/, code);
});

test("a code stands for one problem", () => {
  const codes = catalogues.flatMap((one) => Object.values(one).map(([code]) => code));
  assert.deepEqual(codes.toSorted(), [...new Set(codes)].toSorted());
});
