import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { character } from "#pullsecret/arbitrary.fixture.ts";
import { Gathered } from "./answer-bytes.ts";

test("joins all chunks, however the text is cut, and then starts with an empty text", () =>
  fc.assert(
    fc.property(fc.string({ unit: character }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const gathered = new Gathered("it", 1000);
      for (let round = 0; round < 2; round++) {
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; at += size) gathered.add(bytes.subarray(at, at + size));
        assert.equal(gathered.take(), text);
      }
    }),
  ));

test("accepts an answer as long as the limit, and refuses one more byte", () => {
  const gathered = new Gathered("the answer", 3);
  gathered.add(Buffer.from("abc"));
  assert.throws(() => gathered.add(Buffer.from("d")), /^Error: the answer is larger than 3 bytes$/);
});
