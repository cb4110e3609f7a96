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

/** JSON with at most 102 values and keys. */
const shapes: Readonly<Record<string, string>> = {
  objects: `[${"{},".repeat(50)}0]`,
  lists: `[${"[],".repeat(50)}0]`,
  "lists in lists": "[".repeat(100) + "]".repeat(100),
  "objects in objects": '{"a":'.repeat(100) + "0" + "}".repeat(100),
  keys: `{${Array.from({ length: 100 }, (_, n) => `"${n}":0`).join(",")}}`,
  numbers: `[${"0,".repeat(100)}0]`,
};
for (const [what, text] of Object.entries(shapes))
  test(`accepts ${what} within the limit of values, and refuses them with half of that limit`, () => {
    assert.ok(JSON.parse(text));
    const bytes = Buffer.from(text);
    const gathered = new Gathered("the answer", 1000, 101);
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < bytes.length; at += 7) gathered.add(bytes.subarray(at, at + 7));
      assert.equal(gathered.take(), text);
    }
    const strict = new Gathered("the answer", 1000, 50);
    assert.throws(() => strict.add(bytes), /^Error: the answer has more than 50 values$/);
  });
