import assert from "node:assert/strict";
import test from "node:test";
import { interpret } from "./mount.ts";

const good = {
  revision: "7",
  salt: "s".repeat(32),
  intent: "apply",
  ".dockerconfigjson": '{"auths":{"a.io":{"auth":"dTpw"}}}',
  sources: '{"a.io":"additional"}',
};

test("reads the files as one document", () => {
  const mounted = of({});
  assert.ok(mounted.kind === "document");
  assert.equal(mounted.revision, 7);
  assert.equal(mounted.isRelease, false);
  assert.deepEqual(mounted.entries, [
    { key: "a.io", raw: '{"auth":"dTpw"}', original: false, place: "file" },
  ]);
});

test("reads a revision that ends with a line break, and files of exactly 1 MiB", () => {
  const padded = (text: string) => text.padEnd(1024 * 1024);
  const { ".dockerconfigjson": document, sources } = good;
  for (const change of [
    { revision: "7\n" },
    { ".dockerconfigjson": padded(document) },
    { sources: padded(sources) },
  ])
    assert.equal(of(change).kind, "document", JSON.stringify(change).slice(0, 80));
});

test("does not change an entry of the original that has neither user nor password", () => {
  const document = '{"auths":{"a.io":{},"b.io":{"identitytoken":"t"}}}';
  const sources = '{"a.io":"original","b.io":"original"}';
  const { revision, salt, intent } = good;
  const files = { revision, salt, intent, document, sources };
  const bytes = Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]);
  const mounted = interpret(Object.fromEntries(bytes) as Parameters<typeof interpret>[0]);
  assert.ok(mounted.kind === "document");
  assert.deepEqual(
    mounted.entries.map(({ key, raw, original }) => [key, raw, original]),
    [
      ["a.io", "{}", true],
      ["b.io", '{"identitytoken":"t"}', true],
    ],
  );
});

test("refuses mounted content that cannot be applied, with a reason that contains no credential", () => {
  const huge = " ".repeat(1024 * 1024 + 1);
  const table: readonly (readonly [files: Partial<typeof good>, kind: string, why?: RegExp])[] = [
    [{ revision: "" }, "incomplete"],
    [{ revision: "x" }, "incomplete"],
    [{ revision: "-1" }, "incomplete"],
    [{ intent: "remove" }, "incomplete"],
    [{ revision: "7\n\n" }, "incomplete"],
    [{ intent: "apply\n" }, "incomplete"],
    [{ salt: "s".repeat(31) }, "incomplete"],
    [{ salt: "s".repeat(33) }, "incomplete"],
    [{ ".dockerconfigjson": "{" }, "refused"],
    [{ ".dockerconfigjson": '{"auths":{"a.io":{"auth":"cGxhbnRlZA=="}}}' }, "refused", /a\.io/],
    [{ ".dockerconfigjson": huge }, "refused", /1 MiB/],
    [{ sources: "{" }, "refused", /sources/],
    [{ sources: "[]" }, "refused", /sources/],
    [{ sources: "null" }, "refused", /sources/],
    [{ sources: huge }, "refused", /1 MiB/],
  ];
  for (const [change, kind, why = /./] of table) {
    const mounted = of(change);
    assert.equal(mounted.kind, kind, JSON.stringify(change).slice(0, 80));
    if (!("why" in mounted)) continue;
    assert.match(mounted.why, why);
    assert.doesNotMatch(mounted.why, /cGxhbnRlZA|planted/);
  }
});

function of(change: Partial<typeof good>) {
  const { ".dockerconfigjson": document, ...others } = { ...good, ...change };
  const { revision, salt, intent, sources } = others;
  return interpret({
    revision: Buffer.from(revision),
    document: Buffer.from(document),
    salt: Buffer.from(salt),
    intent: Buffer.from(intent),
    sources: Buffer.from(sources),
  });
}

test("never infers a release: a document with only originals is applied", () => {
  const named = of({ sources: '{"a.io":"original"}' });
  assert.ok(named.kind === "document" && !named.isRelease);
  assert.equal(named.entries[0]?.original, true);
});

test("treats an entry as additional, so that it can be removed, if `sources` does not list the entry", () => {
  const unnamed = of({ sources: "{}" });
  assert.ok(unnamed.kind === "document" && unnamed.entries[0]?.original === false);
});

test("treats an entry as additional if `sources` names an unknown source for the entry", () => {
  for (const said of ['"extra-team-a"', '{"source":"original"}', '["original"]', "1", "null"]) {
    const unknown = of({ sources: `{"a.io":${said}}` });
    assert.ok(unknown.kind === "document", said);
    assert.equal(unknown.entries[0]?.original, false, said);
  }
});

test("gives each revision its own digest", () => {
  const [plain, salted, released] = [{}, { salt: "t".repeat(32) }, { intent: "release" }].map(of);
  assert.ok(plain?.kind === "document" && salted?.kind === "document");
  assert.ok(released?.kind === "document");
  assert.equal(new Set([plain, salted, released].map(({ digest }) => digest)).size, 3);
});
