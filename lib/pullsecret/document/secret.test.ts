import assert from "node:assert/strict";
import { test } from "node:test";
import { secretType } from "#contract/names.ts";
import { formatProblem } from "../problems/problems.ts";
import { isEmptied, judgeSecret, partsOf, type SecretParts } from "./secret.ts";

const parts = (document: string | undefined, type: string | undefined = secretType) => ({
  type,
  document: document === undefined ? undefined : Buffer.from(document),
});
const untyped = (document: string): SecretParts => ({ ...parts(document), type: undefined });

const valid = '{"auths":{"a.io":{"auth":"dTpw"}}}';
const emptyList = '{"auths":{}}';

/** The problems as additional Secret and as original, and whether the Secret counts as deleted. */
const rows: readonly (readonly [
  what: string,
  parts: SecretParts,
  additional: string,
  original: string,
  emptied: boolean,
])[] = [
  ["a valid document", parts(valid), "", "", false],
  ["another type", parts(valid, "Opaque"), "GPS301", "", false],
  ["no type", untyped(valid), "GPS301", "", false],
  [
    "neither type nor document",
    { type: undefined, document: undefined },
    "GPS301",
    "GPS302",
    false,
  ],
  ["no document", parts(undefined), "GPS302", "GPS302", false],
  ["an empty document", parts(""), "GPS103", "GPS103", false],
  ["an empty list of entries", parts(emptyList), "", "", true],
  ["an empty list of entries and another type", parts(emptyList, "Opaque"), "GPS301", "", false],
  ["an empty list of entries and no type", untyped(emptyList), "GPS301", "", false],
  ["no list of entries", parts("{}"), "GPS110", "GPS110", false],
  ["null", parts("null"), "GPS110", "GPS110", false],
  ["null as the list of entries", parts('{"auths":null}'), "GPS110", "GPS110", false],
  ["a list as the list of entries", parts('{"auths":[]}'), "GPS109", "GPS109", false],
  ["a text as the list of entries", parts('{"auths":""}'), "GPS109", "GPS109", false],
  ["only empty entries", parts('{"auths":{"a.io":{}}}'), "GPS132", "GPS132", false],
  ["a list", parts("[]"), "GPS110", "GPS110", false],
];
for (const [what, secret, additional, original, emptied] of rows)
  test(`judges a Secret with ${what}`, () => {
    const codes = (["additional", "original"] as const).map((role) => {
      const judged = judgeSecret(secret, { name: "s", role });
      return judged.ok ? "" : judged.problems.map(({ code }) => code).join();
    });
    assert.deepEqual([...codes, isEmptied(secret)], [additional, original, emptied]);
  });

/** Refused Secrets, and the whole line that a person reads. */
const refusals: readonly (readonly [
  what: string,
  parts: SecretParts,
  role: "additional" | "original",
  line: RegExp,
])[] = [
  ["another type", parts(valid, "Opaque"), "additional", /^s: type: type is Opaque; set type: /],
  ["no type", untyped(valid), "additional", /^s: type: type is missing; set type: /],
  [
    "no document",
    parts(undefined),
    "original",
    /^s: data\["\.dockerconfigjson"\]: is missing; put the pull secret under this key$/,
  ],
  ["no list of entries", parts("{}"), "original", /^s: auths: auths is missing; give JSON /],
  [
    "only empty entries",
    parts('{"auths":{"a.io":{}}}'),
    "original",
    /^s: auths: has no credential for a node, and no other entry has one; /,
  ],
];
for (const [what, secret, role, line] of refusals)
  test(`names the place and the words of the problem: ${role}, ${what}`, () => {
    const judged = judgeSecret(secret, { name: "s", role });
    assert.ok(!judged.ok && !judged.isIdle);
    assert.match(judged.problems.map(formatProblem).join("\n"), line);
  });

test("takes the document from its key, as base64", () => {
  const data = { ".dockerconfigjson": Buffer.from(valid).toString("base64"), other: "eA==" };
  assert.deepEqual(partsOf({ type: secretType, data }), parts(valid));
  assert.deepEqual(partsOf({ data: { other: "eA==" } }), { type: undefined, document: undefined });
  assert.deepEqual(partsOf({}), { type: undefined, document: undefined });
});
