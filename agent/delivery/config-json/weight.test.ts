import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { countValues } from "./weight.ts";

/**
 * How many values a document has, and how many of them are lists or objects with nothing in them.
 */
function count(value: unknown): { values: number; empty: number } {
  if (typeof value !== "object" || value === null) return { values: 1, empty: 0 };
  const below = Object.values(value).map(count);
  const sum = (of: "values" | "empty") => below.reduce((total, one) => total + one[of], 0);
  return { values: 1 + sum("values"), empty: sum("empty") + Number(below.length === 0) };
}

test("every value below the document is counted, and those with nothing in them twice", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: fc.constantFrom("a", ",", "[", "{", '"', "\\") }),
      (document) => {
        const { values, empty } = count(document);
        assert.equal(countValues(Buffer.from(JSON.stringify(document))), values - 1 + empty);
      },
    ),
  );
});

test("any bytes have an answer", () => {
  const rows = [
    ["", 0],
    ['"\\', 0],
    ['"\\"[', 0],
    ['"\\\\"[', 1],
    [`"${"[".repeat(9)}`, 0],
    ["[".repeat(9), 9],
  ] as const;
  for (const [text, values] of rows) assert.equal(countValues(Buffer.from(text)), values, text);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => countValues(bytes) <= bytes.length),
  );
});
