import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { secretType } from "../pullsecret/names.ts";
import { accept, type Sources } from "./accept.ts";
import { globalSecret, readPublished, type Published } from "./publish.ts";

const policy = { conflicts: "additional", protect: [] } as const;
const auth = (pair: string) => ({ auth: Buffer.from(pair).toString("base64") });
const text = (entries: Record<string, string>) =>
  JSON.stringify({
    auths: Object.fromEntries(Object.entries(entries).map(([registry, pair]) => [registry, auth(pair)])),
  });
const secret = (document: string | undefined, type = secretType): V1Secret => ({
  type,
  data: document === undefined ? {} : { ".dockerconfigjson": Buffer.from(document).toString("base64") },
});
const sources = (changes: Partial<Sources>): Sources => ({
  additional: undefined,
  original: undefined,
  originalName: undefined,
  published: undefined,
  ...changes,
});

/** What stands in global-pull-secret after these sources were accepted. */
function publishedFrom(given: Partial<Sources>): Published {
  const { wanted } = accept(sources(given), policy);
  assert.ok(wanted);
  const read = readPublished(globalSecret({ ...wanted, revision: 1 }));
  assert.ok(read);
  return read;
}

const additional = secret(text({ "quay.io": "add:1", "a.example": "add:2" }));
const original = secret(text({ "quay.io": "orig:1", "o.example": "orig:2" }));
const originalName = "kube-system/pull-secret";
const bad = secret('{"auths":{"quay.io":{"auth":"%%%"}}}');

test("H9: on a conflict the additional wins, and the sources say so", () => {
  const { wanted } = accept(sources({ additional, original, originalName }), policy);
  assert.equal(wanted?.document, text({ "a.example": "add:2", "o.example": "orig:2", "quay.io": "add:1" }));
  assert.equal(wanted.sources, '{"a.example":"additional","o.example":"original","quay.io":"additional"}');
});

test("other bytes with the same meaning want the same", () => {
  const spaced = secret(
    JSON.stringify(JSON.parse(text({ "a.example": "add:2", "https://quay.io/v2/": "add:1" })), undefined, 2),
  );
  assert.equal(
    accept(sources({ additional: spaced }), policy).wanted?.document,
    accept(sources({ additional }), policy).wanted?.document,
  );
});

test("H24: an invalid additional that was never good deploys nothing and names the key path", () => {
  const { wanted, problems } = accept(sources({ additional: bad, original, originalName }), policy);
  assert.equal(wanted, undefined);
  assert.match(problems.additional[0]?.path ?? "", /auths\["quay\.io"\]\.auth/);
});

test("an invalid additional keeps its last good entries while the original's rotation flows", () => {
  const published = publishedFrom({ additional, original, originalName });
  const rotated = secret(text({ "quay.io": "orig:1", "o.example": "rotated:2" }));
  const { wanted, problems } = accept(sources({ additional: bad, original: rotated, originalName, published }), policy);
  assert.equal(wanted?.document, text({ "a.example": "add:2", "o.example": "rotated:2", "quay.io": "add:1" }));
  assert.equal(problems.additional.length, 1);
  assert.deepEqual(problems.original, []);
});

test("an additional that was good and empty has a last good state too", () => {
  const published = publishedFrom({ additional: secret('{"auths":{}}'), original, originalName });
  const { wanted } = accept(sources({ additional: bad, original, originalName, published }), policy);
  assert.equal(wanted?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
});

test("both invalid: what is published stays, and both are told", () => {
  const published = publishedFrom({ additional, original, originalName });
  const { wanted, problems } = accept(sources({ additional: bad, original: bad, originalName, published }), policy);
  assert.equal(wanted?.document, published.document);
  assert.equal(wanted.sources, published.sourcesText);
  assert.equal(problems.additional.length, 1);
  assert.equal(problems.original.length, 1);
});

test("an original that vanishes takes nothing away", () => {
  const published = publishedFrom({ additional, original, originalName });
  const { wanted, problems } = accept(sources({ additional, originalName, published }), policy);
  assert.equal(wanted?.document, published.document);
  assert.equal(problems.original[0]?.code, "GPS303");
});

test("an original that is not there yet does not hold up the additional", () => {
  const { wanted } = accept(sources({ additional, originalName }), policy);
  assert.equal(wanted?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
});

test("removal wants the original alone", () => {
  const published = publishedFrom({ additional, original, originalName });
  const { wanted } = accept(sources({ original, originalName, published }), policy);
  assert.equal(wanted?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
  assert.equal(accept(sources({ published: publishedFrom({ additional }) }), policy).wanted?.document, '{"auths":{}}');
});

test("a protected registry refuses the additional as a whole; its last good entries stay", () => {
  const published = publishedFrom({ additional, original, originalName });
  const strict = { conflicts: "additional", protect: ["o.example"] } as const;
  const shadow = secret(text({ "o.example/team": "add:3" }));
  const { wanted, problems } = accept(sources({ additional: shadow, original, originalName, published }), strict);
  assert.equal(wanted?.document, published.document);
  assert.equal(problems.additional.length, 1);
  assert.equal(accept(sources({ additional: shadow, original, originalName }), strict).wanted, undefined);
});

const refused: readonly (readonly [sentence: string, secret: V1Secret, code: string])[] = [
  ["another type", secret(text({}), "Opaque"), "GPS301"],
  ["no key .dockerconfigjson", secret(undefined), "GPS302"],
];
for (const [sentence, one, code] of refused) {
  test(`H2: ${sentence} is refused`, () => {
    assert.equal(accept(sources({ additional: one }), policy).problems.additional[0]?.code, code);
  });
}
