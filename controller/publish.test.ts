import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { globalSecret, isPending, nextRevision, readPublished, type Published } from "./publish.ts";

const wanted = { document: '{"auths":{}}', sources: "{}", entries: 0, fromAdditional: 0 };
const published = (changes: Partial<Published> = {}): Published => ({
  document: wanted.document,
  sources: {},
  sourcesText: wanted.sources,
  revision: 4,
  ...changes,
});

const cases: readonly (readonly [
  sentence: string,
  published: Published | undefined,
  template: number,
  pending: boolean,
])[] = [
  ["the same is not published again", published(), 4, false],
  ["a revision that is not staged yet is not published again", published(), 3, false],
  ["another document is", published({ document: '{"auths":{"a":{"auth":"YTpi"}}}' }), 4, true],
  ["other sources are", published({ sourcesText: '{"a":"original"}' }), 4, true],
  ["a missing Secret is", undefined, 4, true],
  ["a revision edited into nonsense is", published({ revision: 0 }), 4, true],
  ["a Secret restored from long ago is", published(), 7, true],
];
for (const [sentence, before, template, pending] of cases) {
  test(`publish: ${sentence}`, () => assert.equal(isPending(before, wanted, template), pending));
}

test("law: the revision grows past whatever is remembered anywhere", () => {
  const revision = fc.nat(1e9);
  fc.assert(
    fc.property(fc.option(revision, { nil: undefined }), revision, (known, template) => {
      const before = known === undefined ? undefined : published({ revision: known });
      const next = nextRevision(before, template);
      assert.ok(next > template && next > (known ?? 0));
      assert.equal(isPending(published({ revision: next }), wanted, next), false);
    }),
  );
});

test("law: what is written is read back", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.dictionary(fc.string(), fc.constantFrom("original", "additional")),
      fc.integer({ min: 1 }),
      (document, sources, revision) => {
        const read = readPublished(globalSecret({ document, sources: JSON.stringify(sources), revision }));
        assert.equal(read?.document, Buffer.from(document).toString());
        assert.deepEqual({ ...read?.sources }, { ...(JSON.parse(JSON.stringify(sources)) as object) });
        assert.equal(read?.revision, revision);
      },
    ),
  );
});

test("nonsense in the Secret reads as absent, and throws nothing", () => {
  const read = readPublished({ data: { revision: "////", sources: "e30x", ".dockerconfigjson": "" } });
  assert.deepEqual(read, { document: "", sources: {}, sourcesText: "{}1", revision: 0 });
  assert.equal(readPublished({})?.revision, 0);
  assert.equal(readPublished(undefined), undefined);
});
