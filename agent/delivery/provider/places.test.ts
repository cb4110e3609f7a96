import assert from "node:assert/strict";
import test from "node:test";
import { contentWith, entry } from "#agent/facts/facts.fixture.ts";
import type { Place } from "#agent/journal/journal.ts";
import type { ProviderScope } from "#contract/names.ts";
import { answerOf, entriesOf } from "#pullsecret/provider.ts";
import { rowsFor } from "#pullsecret/provider.fixture.ts";
import { answered, answerFor, emptyAnswer, type Installed, placed, unservable } from "./places.ts";

const installed: Installed = {
  rows: rowsFor([]),
  answer: emptyAnswer,
  identity: "1",
  asked: true,
};
const content = contentWith(7, entry("orig.io", "o", true), entry("a.io", "p"));

const rows: readonly (readonly [
  when: string,
  scope: ProviderScope | undefined,
  change: Partial<Installed>,
  place: Place,
])[] = [
  ["without the provider", undefined, {}, "file"],
  ["if the kubelet has asked since this boot", "All", {}, "answer"],
  ["until the kubelet asks", "All", { asked: false }, "both"],
  ["without a row for the registry", "All", { rows: ["b.io"] }, "file"],
  ["for annotated pods", "Annotated", {}, "answer"],
  ["for annotated pods until the kubelet asks", "Annotated", { asked: false }, "beside"],
  ["for annotated pods without a row", "Annotated", { rows: ["b.io"] }, "beside"],
];
for (const [when, scope, change, place] of rows)
  test(`puts our entry into place "${place}" ${when}, and the original's into config.json`, () => {
    const { entries } = placed(content, { ...installed, ...change }, scope);
    assert.deepEqual(
      entries.map((placedEntry) => placedEntry.place),
      ["file", place],
    );
  });

test("returns the same content if its places are right", () => {
  assert.equal(placed(content, installed, undefined), content);
});

test("scope Annotated: refuses content that only config.json could serve, because every pod would get it", () => {
  const why = (key: string, raw: string) => {
    const other = { ...content, entries: [{ ...entry(key, "p"), raw }] };
    return unservable(other, { ...installed, rows: ["b.io"] }, "Annotated") ?? "";
  };
  const binary = Buffer.from([0x75, 0x3a, 0xff]).toString("base64");
  assert.match(why("a.io", '{"auth":"dTpw"}'), /a\.io.*no row of matchImages/);
  assert.match(why("b.io", `{"auth":"${binary}"}`), /b\.io.*UTF-8/);
  assert.match(why("[::1]:5000", '{"auth":"dTpw"}'), /::1.*IPv6/);
  assert.equal(why("b.io", '{"auth":"dTpw"}'), "");
});

test("accepts originals that the provider cannot serve, and any content for all pods or without the provider", () => {
  const unserved = { ...installed, rows: ["b.io"] };
  const originals = contentWith(7, entry("a.io", "o", true), entry("b.io", "p"));
  assert.equal(unservable(originals, unserved, "Annotated"), undefined);
  for (const scope of ["All", undefined] as const)
    assert.equal(unservable(content, unserved, scope), undefined);
});

const keysOf = (answer: Buffer | undefined) => answer && [...entriesOf(answer).keys()];

test("answers with our entries only, and writes nothing if the answer is right", () => {
  const served = placed(content, installed, "All");
  const answer = answerFor(served, installed, "All", false);
  assert.deepEqual(keysOf(answer), ["a.io"]);
  assert.equal(answerFor(served, { ...installed, answer }, "All", true), undefined);
});

test("without the provider, keeps the answer until the kubelet has read config.json, except what leaves", () => {
  const answer = answerOf(
    new Map([
      ["https://a.io", { auth: "dTpvbGQ=" }],
      ["b.io", { auth: "dTpw" }],
    ]),
  );
  const before = answerFor(content, { ...installed, answer }, undefined, false);
  assert.deepEqual(keysOf(before), ["https://a.io"]);
  assert.deepEqual(answerFor(content, { ...installed, answer }, undefined, true), emptyAnswer);
  assert.equal(answerFor(content, { ...installed, answer: undefined }, undefined, true), undefined);
});

test("keeps in the answer what config.json must not have, while the node is prepared for another scope", () => {
  const answer = answerOf(new Map([["a.io", { auth: "dTpvbGQ=" }]]));
  const unfit = { ...installed, answer, rows: [], unfit: "prepared for scope All" };
  const served = placed(content, unfit, "Annotated");
  assert.equal(answerFor(served, unfit, "Annotated", true), undefined);
});

test("writes no answer where the provider is not installed", () => {
  const unfit = { ...installed, answer: undefined, unfit: "bin is missing" };
  assert.equal(answerFor(placed(content, unfit, "All"), unfit, "All", true), undefined);
});

test("reads the entries of an answer, and none from anything else", () => {
  const answer = answerOf(new Map([["a.io", { auth: "dTpw" }]]));
  const [only] = answered({ ...installed, answer });
  assert.deepEqual([only?.key, only?.raw], ["a.io", '{"auth":"dTpw"}']);
  for (const other of ["", "{", '{"auth":5}'])
    assert.deepEqual(answered({ ...installed, answer: Buffer.from(other) }), []);
});
