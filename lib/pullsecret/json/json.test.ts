import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { spoiledBytes } from "../arbitrary.fixture.ts";
import { documentLimits, readJson, type JsonRead } from "./json.ts";
import { Fault, readText } from "./text.ts";
import { doubleOf, valuesOf } from "./values.ts";

function read(text: string, limits = documentLimits): JsonRead {
  return readJson(Buffer.from(text), limits);
}

/** The result of JSON.parse, or undefined if JSON.parse throws. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

test("reads every value as JSON.parse does", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ depthSize: "medium" }),
      fc.constantFrom(undefined, 1, "\t"),
      (value, space) => {
        const text = JSON.stringify(value, null, space);
        const ours = read(text);
        if (text.includes('"__proto__"')) return;
        assert.ok(ours.ok, text);
        assert.equal(JSON.stringify(ours.value), JSON.stringify(JSON.parse(text)));
      },
    ),
    { numRuns: 500 },
  );
});

test("refuses what JSON.parse refuses, and nothing else without a stated reason", () => {
  fc.assert(
    fc.property(spoiledBytes, (bytes) => {
      const ours = readJson(bytes);
      const theirs = parsed(Buffer.from(bytes).toString());
      if (ours.ok) assert.equal(JSON.stringify(ours.value), JSON.stringify(theirs));
      else if (ours.faults[0]?.kind === "notJson") assert.equal(theirs, undefined);
    }),
    { numRuns: 1500 },
  );
});

const faults: readonly (readonly [text: string, kind: string, path: string])[] = [
  ['{"a":{"b c":[0,{"d":1,"d":2}]}}', "duplicate", 'a["b c"][1].d'],
  ['{"a":[{"__proto__":1}]}', "forbiddenKey", "a[0].__proto__"],
  ['["\\ud800"]', "loneSurrogate", "[0]"],
  ['"\\udc00"', "loneSurrogate", "document"],
  ['{"a":1e400}', "number", "a"],
  ['{"a":9007199254740993}', "number", "a"],
  ["{\n\n  x}", "notJson", "line 3, column 3"],
  ["[1,2", "notJson", "line 1, column 5"],
  ["", "notJson", "line 1, column 1"],
  ['{"a":\t"\t"}', "notJson", "line 1, column 8"],
  ["[01]", "notJson", "line 1, column 3"],
  ["[1.]", "notJson", "line 1, column 3"],
  ["[.5]", "notJson", "line 1, column 2"],
  ["[+1]", "notJson", "line 1, column 2"],
  ["[NaN]", "notJson", "line 1, column 2"],
  ["[nul]", "notJson", "line 1, column 2"],
  ['["\\x"]', "notJson", "line 1, column 2"],
  ['["\\u12"]', "notJson", "line 1, column 2"],
  ['["a', "notJson", "line 1, column 4"],
  ['["a\\', "notJson", "line 1, column 5"],
  ["[1 2]", "notJson", "line 1, column 4"],
  ['{"a" 1}', "notJson", "line 1, column 6"],
  ["{1:2}", "notJson", "line 1, column 2"],
  ["[]]", "notJson", "line 1, column 3"],
  ["[}", "notJson", "line 1, column 2"],
  ["[1}", "notJson", "line 1, column 3"],
  ["\u00a0[]", "notJson", "line 1, column 1"],
];

test("reports a fault with its place", () => {
  for (const [text, kind, path] of faults) {
    assert.deepEqual(read(text), { ok: false, faults: [{ kind, path }] }, text);
  }
});

test("reports bytes that are not UTF-8 with their place", () => {
  const places = [
    ["ff", 1],
    ["22ff22", 2],
    ["22e28222", 4],
    ["22e282", 4],
    ["22eda08022", 3],
    ["22c3a4c022", 4],
  ] as const;
  for (const [hex, place] of places) {
    const read = readJson(Buffer.from(hex, "hex"));
    assert.deepEqual(
      read,
      { ok: false, faults: [{ kind: "notUtf8", path: `byte ${place}` }] },
      hex,
    );
  }
});

test("applies the caller's limits exactly", () => {
  assert.ok(read("[[1]]", { bytes: 5, depth: 2 }).ok);
  assert.deepEqual(read("[[1]]", { bytes: 4, depth: 2 }), {
    ok: false,
    faults: [{ kind: "tooBig", path: "document" }],
  });
  const deep = read("[[[]]]", { bytes: 9, depth: 2 });
  assert.deepEqual(deep, { ok: false, faults: [{ kind: "tooDeep", path: "line 1, column 3" }] });
});

test("reports the first 20 of many faults", () => {
  for (const [count, reported] of [
    [19, 19],
    [20, 20],
    [25, 20],
  ] as const) {
    const result = read(`[${Array.from({ length: count }, () => "1e400").join(",")}]`);
    assert.ok(!result.ok);
    const paths = Array.from({ length: reported }, (_, at) => `[${at}]`);
    assert.deepEqual(
      result.faults.map(({ path }) => path),
      paths,
    );
  }
});

test("reports only where the nesting begins if a tree has too many levels", () => {
  const tree = readText('{"a":[{"b":[0]}]}', 9);
  assert.ok(!(tree instanceof Fault));
  const faultsAt = (depth: number) => valuesOf(tree, { numeral: doubleOf, depth }).faults;
  assert.deepEqual(faultsAt(4), []);
  assert.deepEqual(faultsAt(3), [{ kind: "tooDeep", path: "a[0]" }]);
});

test("returns objects that have only their own members", () => {
  const object = read('{"a":1}');
  assert.ok(object.ok);
  assert.equal(Object.getPrototypeOf(object.value), null);
});
