import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  globalSecret,
  isEdited,
  isLost,
  isPending,
  newSalt,
  nextRevision,
  publishedDigest,
  readPublished,
  type Published,
} from "./global-secret.ts";

const salt = newSalt();
const wanted = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "apply",
  entries: 0,
  fromAdditional: 0,
} as const;
const published = (changes: Partial<Published> = {}): Published => ({
  document: wanted.document,
  sources: {},
  sourcesText: wanted.sources,
  intent: wanted.intent,
  salt,
  revision: 4,
  ...changes,
});

/** The template that goes with what is published. */
const staged = (content: Published | undefined, revision = content?.revision ?? 0) => ({
  revision,
  digest: content === undefined ? "" : publishedDigest(content),
});

const other = published({ salt: newSalt() });
const encoded = (text: string) => Buffer.from(text).toString("base64");
const edited = (key: string, value: string) => {
  const { data } = globalSecret({
    document: '{"auths":{}}',
    sources: "{}",
    intent: "apply",
    salt,
    revision: 4,
  });
  return readPublished({ data: { ...data, [key]: value } });
};

const cases: readonly (readonly [
  sentence: string,
  published: Published | undefined,
  template: Readonly<{ revision: number; digest: string }>,
  pending: boolean,
  lost: boolean,
])[] = [
  ["the same is not published again", published(), staged(published()), false, false],
  [
    "a revision that is not staged yet is not published again",
    published(),
    staged(published(), 3),
    false,
    false,
  ],
  ["one that no template has seen is not", published(), staged(undefined), false, false],
  [
    "another document is",
    published({ document: "{}" }),
    staged(published({ document: "{}" })),
    true,
    false,
  ],
  [
    "other sources are",
    published({ sourcesText: '{"a":"original"}' }),
    staged(published(), 3),
    true,
    false,
  ],
  ["another intent is", published({ intent: "release" }), staged(published(), 3), true, false],
  [
    "a Secret of a controller that made no salt is",
    published({ salt: Buffer.alloc(0) }),
    staged(undefined, 4),
    true,
    false,
  ],
  ["a missing Secret is", undefined, staged(published()), true, true],
  [
    "a revision edited into nonsense is",
    published({ revision: 0 }),
    staged(published()),
    true,
    true,
  ],
  ["a Secret restored from long ago is", published(), staged(published(), 7), true, true],
  [
    "the number of another content, restored or installed anew, is",
    published(),
    staged(other),
    true,
    true,
  ],
  [
    "a template whose digest somebody took away is",
    published(),
    { revision: 4, digest: "" },
    true,
    true,
  ],
  [
    "a salt that somebody replaced is",
    edited("salt", newSalt().toString("base64")),
    staged(published()),
    true,
    true,
  ],
  ["a salt that somebody cut is", edited("salt", "AAAA"), staged(published()), true, true],
  [
    "an intent that somebody replaced is",
    edited("intent", encoded("release")),
    staged(published()),
    true,
    true,
  ],
  [
    "an intent that somebody edited into nonsense is",
    edited("intent", encoded("aply")),
    staged(published()),
    true,
    true,
  ],
  ["an intent that somebody took away is", edited("intent", ""), staged(published()), true, true],
];
for (const [sentence, before, template, pending, lost] of cases) {
  test(`publish: ${sentence}`, () => {
    assert.equal(isPending(before, wanted, template), pending);
    assert.equal(isLost(before, template), lost);
  });
}

for (const key of ["salt", "intent", "sources", "revision", ".dockerconfigjson"]) {
  test(`a ${key} that somebody else wrote makes the Secret an edited one`, () => {
    const keys = ["salt", "intent", "sources", "revision", ".dockerconfigjson"];
    const fields = (left: readonly string[]) => ({
      "f:data": Object.fromEntries(left.map((one) => [`f:${one}`, {}])),
    });
    const by = (left: readonly string[]) => ({
      metadata: {
        managedFields: [
          { manager: "global-pull-secret-controller", operation: "Apply", fieldsV1: fields(left) },
          { manager: "kubectl", operation: "Update", fieldsV1: fields([key]) },
        ],
      },
    });
    assert.equal(isEdited(by(keys)), false);
    assert.equal(isEdited(by(keys.filter((one) => one !== key))), true);
  });
}

test("law: the revision grows past whatever is remembered anywhere", () => {
  const revision = fc.nat(1e9);
  fc.assert(
    fc.property(
      fc.option(revision, { nil: undefined }),
      revision,
      revision,
      (known, template, served) => {
        const before = known === undefined ? undefined : published({ revision: known });
        const next = nextRevision(before, template, served);
        assert.ok(next > template && next > served && next > (known ?? 0));
        const after = published({ revision: next });
        assert.equal(isPending(after, wanted, staged(after)), false);
      },
    ),
  );
});

test("law: what is written is read back", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.dictionary(fc.string(), fc.constantFrom("original", "additional")),
      fc.integer({ min: 1 }),
      fc.constantFrom("apply", "release", "hold"),
      (document, sources, revision, intent) => {
        const content = { document, sources: JSON.stringify(sources), intent, salt, revision };
        const read = readPublished(globalSecret(content));
        assert.equal(read?.intent, intent);
        assert.deepEqual(read.salt, salt);
        assert.equal(read.document, Buffer.from(document).toString());
        assert.deepEqual(
          { ...read.sources },
          { ...(JSON.parse(JSON.stringify(sources)) as object) },
        );
        assert.equal(read.revision, revision);
      },
    ),
  );
});

test("a malformed Secret reads as absent, and nothing throws", () => {
  const read = readPublished({
    data: { revision: "////", sources: "e30x", ".dockerconfigjson": "" },
  });
  assert.deepEqual(read, {
    document: "",
    sources: {},
    sourcesText: "{}1",
    intent: "release",
    salt: Buffer.alloc(0),
    revision: 0,
  });
  assert.equal(readPublished({})?.revision, 0);
  assert.equal(readPublished(undefined), undefined);
});

test("an older Secret's intent is read off its sources, as its agents did, and it has no digest", () => {
  const older = (sources: string) =>
    readPublished({
      data: { revision: encoded("3"), sources: encoded(sources), ".dockerconfigjson": "e30=" },
    });
  assert.equal(older('{"a":"additional"}')?.intent, "apply");
  const released = older('{"a":"original"}');
  assert.ok(released);
  assert.equal(released.intent, "release");
  assert.equal(publishedDigest(released), "");
});

test("sources of a shape that this version does not know name no source of its own, and nothing throws", () => {
  for (const said of [
    '{"a.io":{"source":"additional"}}',
    '{"a.io":["additional"]}',
    '["additional"]',
    "null",
    "1",
  ]) {
    const read = readPublished({ data: { sources: Buffer.from(said).toString("base64") } });
    assert.ok(read, said);
    assert.equal(read.sources["a.io"] === "additional", false, said);
    assert.equal(read.sourcesText, said);
  }
});
