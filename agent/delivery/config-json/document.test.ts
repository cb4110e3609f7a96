import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { giveTheSame, areEquivalent } from "./compare.ts";
import {
  countValues,
  type NodeDocument,
  readDocument,
  type Reading,
  withoutInvalid,
  writeDocument,
} from "./document.ts";

const good = { auth: "dTpw" };
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** Whether the kubelet ignores the whole file. */
function isInvalid(reading: Reading): boolean {
  if (reading.kind !== "document") return true;
  const { auths, rest } = withoutInvalid(reading.document);
  return auths.size !== reading.document.auths.size || rest.size !== reading.document.rest.size;
}

test("reads config.json as the kubelet does", () => {
  const table: readonly (readonly [
    text: string,
    kind: "as it is" | "invalid" | "odd",
    keys?: string,
  ])[] = [
    ["{}", "as it is", ""],
    ["null", "as it is", ""],
    ['{"auths":null}', "as it is", ""],
    ['{"auths":{"a.io":{"auth":"dTpw"},"b.io":null,"c.io":{}}}', "as it is", "a.io b.io c.io"],
    ['{"auths":{"a.io":{"username":"u","password":"p","email":null}}}', "as it is", "a.io"],
    ['{"auths":{"a.io":{"auth":"dTpw","identitytoken":5}}}', "as it is", "a.io"],
    ['{"auths":{"a.io":{"auth":"dTpw\\r\\n"}}}', "as it is", "a.io"],
    ['{"auths":{},"credHelpers":{"a.io":"x"},"n":1e400}', "as it is", ""],
    ["", "invalid", ""],
    ["{", "invalid", ""],
    ["\u0000\u0000", "invalid", ""],
    ["\uFEFF{}", "invalid", ""],
    ["[]", "invalid", ""],
    ['"text"', "invalid", ""],
    ['{"auths":[]}', "invalid", ""],
    ['{"auths":{"a.io":{"auth":"!"},"b.io":{"auth":"dTpw"}}}', "invalid", "b.io"],
    ['{"auths":{"a.io":{"auth":"dXA="},"b.io":{}}}', "invalid", "b.io"],
    ['{"auths":{"a.io":"text","b.io":{}}}', "invalid", "b.io"],
    ['{"auths":{"a.io":5,"b.io":{}}}', "invalid", "b.io"],
    ['{"auths":5}', "invalid", ""],
    ["5", "invalid", ""],
    ['{"HttpHeaders":null,"auths":{"b.io":{}}}', "as it is", "b.io"],
    ['{"httpheaders":{"X":null,"Y":"1"},"auths":{"b.io":{}}}', "as it is", "b.io"],
    ['{"HttpHeaders":5,"auths":{"b.io":{}}}', "invalid", "b.io"],
    ['{"httpheaders":5,"auths":{"b.io":{}}}', "invalid", "b.io"],
    ['{"HTTPHEADERS":[],"auths":{"b.io":{}}}', "invalid", "b.io"],
    ['{"httpHeader\u017f":"text","auths":{"b.io":{}}}', "invalid", "b.io"],
    ['{"auths":{"a.io":{"email":5},"b.io":{}}}', "invalid", "b.io"],
    ['{"auths":{"a.io":{"EMAIL":5},"b.io":{}}}', "invalid", "b.io"],
    ['{"HttpHeaders":{"X":1},"auths":{"b.io":{}}}', "invalid", "b.io"],
    ['{"AUTHS":{}}', "odd"],
    ['{"auth\u017F":{}}', "odd"],
    ['{"auths":{},"auths":{"a.io":{}}}', "odd"],
    ['{"auths":{"a.io":{},"a.io":{}}}', "odd"],
    ['{"auths":{"__proto__":{}}}', "odd"],
    ['{"x":"\\ud800"}', "odd"],
    [`{"x":${nested(99)}}`, "as it is", ""],
    [`{"x":${nested(100)}}`, "odd"],
    [`[${nested(100)}]`, "invalid", ""],
    [`{"x":${nested(100)}`, "invalid", ""],
  ];
  for (const [text, kind, keys] of table) {
    const reading = readDocument(Buffer.from(text));
    const seen = reading.kind === "odd" ? "odd" : isInvalid(reading) ? "invalid" : "as it is";
    assert.equal(seen, kind, text);
    if (reading.kind === "document")
      assert.equal([...withoutInvalid(reading.document).auths.keys()].join(" "), keys, text);
  }
  assert.equal(readDocument(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).kind, "odd");
});

test("never throws, whatever the bytes", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readDocument(bytes)));
  fc.assert(fc.property(fc.json(), (text) => void readDocument(Buffer.from(`{"auths":${text}}`))));
});

test("keeps numbers, indentation and the final newline when it writes a document back", () => {
  for (const text of [
    '{"auths":{},"n":1.0,"big":12345678901234567890}',
    '{\n\t"auths": {},\n\t"n": 1.50\n}\n',
  ]) {
    const reading = readDocument(Buffer.from(text));
    assert.ok(reading.kind === "document");
    assert.equal(Buffer.from(writeDocument(reading.document, Buffer.from(text))).toString(), text);
  }
});

function of(text: string): NodeDocument {
  const reading = readDocument(Buffer.from(text));
  assert.ok(reading.kind === "document");
  return reading.document;
}

test("in comparisons, ignores the order of keys, white space and an empty `auths`", () => {
  const entry = JSON.stringify(good);
  const [document, other] = [
    of(`{"auths":{"a":${entry},"b":{}},"x":{"p":1,"q":2}}`),
    of(`{"x":{"q":2,"p":1},\n"auths":{"b":{},"a":${entry}}}`),
  ];
  assert.ok(areEquivalent(document, other) && areEquivalent(of("{}"), of('{"auths":{}}')));
});

test("compares all numbers, keys and values of two documents, but for the kubelet only the credentials", () => {
  const pairs: readonly (readonly [one: string, other: string, given: boolean])[] = [
    ['{"x":1}', '{"x":1.0}', true],
    ['{"x":1}', '{"y":1}', true],
    ['{"x":null}', '{"y":null}', true],
    [
      '{"auths":{"a":{"auth":"dTpw","email":"x"}}}',
      '{"auths":{"a":{"username":"u","password":"p"}}}',
      true,
    ],
    ['{"auths":{"a":null}}', '{"auths":{"a":{}}}', true],
    ['{"auths":{"a":null}}', '{"auths":{"b":null}}', false],
    ['{"auths":{"a":{}}}', "{}", false],
    ['{"auths":{"a":{"auth":"dTpw"}}}', '{"auths":{"a":{"auth":"dTpx"}}}', false],
    ['{"auths":{"a":{"AUTH":"dTpw"}}}', '{"auths":{"a":{"AUTH":"dTpx"}}}', false],
  ];
  for (const [text, other, hasSameCredentials] of pairs)
    for (const [a, b] of [
      [of(text), of(other)],
      [of(other), of(text)],
    ] as const) {
      assert.ok(!areEquivalent(a, b), text);
      assert.equal(giveTheSame(a, b), hasSameCredentials, text);
    }
});

/** The number of values in a document, and how many of them are empty lists or objects. */
function count(value: unknown): { values: number; empty: number } {
  if (typeof value !== "object" || value === null) return { values: 1, empty: 0 };
  const below = Object.values(value).map(count);
  const sum = (of: "values" | "empty") => below.reduce((total, child) => total + child[of], 0);
  return { values: 1 + sum("values"), empty: sum("empty") + Number(below.length === 0) };
}

test("counts every value below the document, and empty lists and objects twice", () => {
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

test("counts values in any bytes, even if they are not JSON", () => {
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
