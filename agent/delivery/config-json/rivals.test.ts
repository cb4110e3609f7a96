import assert from "node:assert/strict";
import { test } from "node:test";
import { contentWith, entry } from "#agent/facts/facts.fixture.ts";
import { noContent } from "#agent/journal/journal.ts";
import { readDocument } from "./document.ts";
import { rivalsIn } from "./rivals.ts";

const auth = (text: string) => ({ auth: Buffer.from(text).toString("base64") });
const hubKey = "https://index.docker.io/v1/";

/** Our entries and those of other programs in one file, and the expected report. */
const files: readonly (readonly [
  ours: readonly string[],
  theirs: readonly string[],
  reported: string,
])[] = [
  [["quay.io"], [], ""],
  [["quay.io"], ["ghcr.io", "quay.io:5000", "quayx.io/team"], ""],
  [["quay.io"], ["quay.io/team"], '"quay.io/team" before "quay.io"'],
  [["quay.io/team"], ["quay.io"], ""],
  [["quay.io/a"], ["quay.io/b"], ""],
  [["quay.io"], ["*.io"], ""],
  [["*.io"], ["quay.io"], '"quay.io" before "*.io"'],
  [[hubKey], ["docker.io/org"], `"docker.io/org" before "${hubKey}"`],
  [[hubKey], ["*.io"], `"*.io" before "${hubKey}"`],
  [["docker.io"], ["*.io"], ""],
  [["a.io"], ["https://a.io/v1/x"], '"https://a.io/v1/x" before "a.io"'],
  [["a.io"], ["user:pw@a.io/x"], '"[redacted]@a.io/x" before "a.io"'],
  [["a.io"], ["not a url"], ""],
];
for (const [ours, theirs, reported] of files)
  test(`B04: reports of ${theirs.join()} beside ours for ${ours.join()}: ${reported || "nothing"}`, () => {
    const entries = (keys: readonly string[], who: string) =>
      keys.map((key) => [key, auth(who)] as const);
    const auths = Object.fromEntries([...entries(ours, "o:o"), ...entries(theirs, "t:t")]);
    const read = (value: object) => {
      const reading = readDocument(Buffer.from(JSON.stringify({ auths: value })));
      assert.ok(reading.kind === "document");
      return reading.document;
    };
    const content = contentWith(1, ...ours.map((key) => entry(key, "o")));
    const document = read(auths);
    const told = rivalsIn(document, content);
    assert.equal(told?.replace(/^.* first: /, "") ?? "", reported);
    assert.equal(rivalsIn(document, noContent), undefined);
    assert.equal(rivalsIn(document, content), told);
    const same = Object.fromEntries(Object.keys(auths).map((key) => [key, auth("o:o")]));
    assert.equal(rivalsIn(read(same), content), undefined, "the same credential");
  });

test("reports no entry of ours as one of another program, and none beside an entry that is not in the file", () => {
  const auths = { "a.io": auth("o:a"), "a.io/team": auth("o:b") };
  const reading = readDocument(Buffer.from(JSON.stringify({ auths })));
  assert.ok(reading.kind === "document");
  const ours = [entry("a.io", "a"), entry("a.io/team", "b")];
  assert.equal(rivalsIn(reading.document, contentWith(1, ...ours)), undefined);
  const elsewhere = { ...entry("a.io", "a"), place: "answer" } as const;
  assert.equal(rivalsIn(reading.document, contentWith(1, elsewhere)), undefined);
});

test("names exactly three entries of other programs without a number", () => {
  const keys = ["a.io", "a.io/1", "a.io/2", "a.io/3"];
  const auths = Object.fromEntries(keys.map((key) => [key, auth(`${key}:p`)]));
  const reading = readDocument(Buffer.from(JSON.stringify({ auths })));
  assert.ok(reading.kind === "document");
  const content = contentWith(1, entry("a.io", "p"));
  assert.match(rivalsIn(reading.document, content) ?? "", /a\.io\/3" before "a\.io"$/);
});

test("names three entries of other programs, and the number of further entries", () => {
  const auths = Object.fromEntries(
    ["a.io", ..."12345".split("").map((n) => `a.io/${n}`)].map((key) => [key, auth(`${key}:p`)]),
  );
  const reading = readDocument(Buffer.from(JSON.stringify({ auths })));
  assert.ok(reading.kind === "document");
  const content = contentWith(1, entry("a.io", "p"));
  assert.match(rivalsIn(reading.document, content) ?? "", /a\.io\/3" before "a\.io", and 2 more$/);
});
