import assert from "node:assert/strict";
import { test } from "node:test";
import { Wrong } from "#contract/values.ts";
import { selector } from "./labels.ts";

const table: readonly (readonly [given: string, text: string])[] = [
  ["", ""],
  [" ", ""],
  [" a , b ", "a,b"],
  ["a=b", "a in (b)"],
  ["a==b", "a in (b)"],
  ["a = b", "a in (b)"],
  ["a!=b", "a notin (b)"],
  ["a=", "a in ()"],
  ["a in (b, c),d", "a in (b,c),d"],
  ["a notin (b,c)", "a notin (b,c)"],
  ["example.com/a,!b", "example.com/a,!b"],
  ["! a", "!a"],
];
for (const [input, text] of table)
  test(`reads '${input}' as '${text}', and reads that result as itself`, () => {
    const read = selector(input);
    assert.ok(!(read instanceof Wrong));
    assert.equal(read.text, text);
    assert.deepEqual(selector(read.text), read);
  });

test("maps each form to an operator of a node affinity with the same meaning", () => {
  const read = selector("a=b,c!=d,e in (f,g),h notin (i),j,!k");
  assert.deepEqual(!(read instanceof Wrong) && read.requirements, [
    { key: "a", operator: "In", values: ["b"] },
    { key: "c", operator: "NotIn", values: ["d"] },
    { key: "e", operator: "In", values: ["f", "g"] },
    { key: "h", operator: "NotIn", values: ["i"] },
    { key: "j", operator: "Exists" },
    { key: "k", operator: "DoesNotExist" },
  ]);
});

for (const input of [
  ",",
  "a,",
  "a=b c",
  "a in b",
  "a in (b",
  "a in (b)c",
  "=b",
  "/a=b",
  "a=/",
  "a in (b,/)",
  "!/a",
  "a>1",
  "a&limit=1",
])
  test(`refused: '${input}'`, () => assert.ok(selector(input) instanceof Wrong));
