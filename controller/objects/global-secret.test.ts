import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import fc from "fast-check";
import { formerKey, publishedModes, secretKeys, servedKeys } from "#contract/names.ts";
import { isFormer, readFormer } from "#pullsecret/merge/former.ts";
import {
  contentDigest,
  globalSecret,
  hasOtherRegistries,
  isEdited,
  newSalt,
  readPublished,
  suppliersIn,
  withoutRemoved,
  type Declared,
  formerAfter,
  formerIn,
  type Numbered,
} from "./global-secret.ts";

const numbered = (revision: number, changes: Partial<Numbered> = {}): Numbered => ({
  document: '{"auths":{}}',
  sources: '{"quay.io":"additional"}',
  intent: "apply",
  salt: Buffer.alloc(32, revision),
  revision,
  ...changes,
});
const declared = (changes: Partial<Declared> = {}): Declared => ({
  newest: numbered(4),
  mode: "Restart",
  served: numbered(3),
  publishedAt: 1_767_225_600,
  former: "",
  ...changes,
});
const encoded = (text: string) => Buffer.from(text).toString("base64");
const allKeys = [...Object.values(secretKeys), ...Object.values(servedKeys), formerKey];

const contents = fc.record({
  document: fc.string({ unit: "grapheme" }),
  sources: fc
    .dictionary(fc.string(), fc.constantFrom("original", "additional"))
    .map((suppliers) => JSON.stringify(suppliers)),
  intent: fc.constantFrom("apply" as const, "release" as const),
  salt: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
});

test("law: reads back its own writes, and always has all keys of both slots", () => {
  fc.assert(
    fc.property(
      contents,
      contents,
      fc.integer({ min: 1, max: 999_999_999_999_999 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(...publishedModes),
      fc.integer({ min: 1, max: 4e9 }),
      (content, other, revision, part, mode, publishedAt) => {
        const newest = { ...content, revision };
        const before = Math.floor(part * revision);
        const served =
          before === 0 ? "nothing" : before === revision ? newest : { ...other, revision: before };
        const secret = globalSecret({ newest, mode, served, publishedAt, former: "s\nd" });
        assert.deepEqual(readPublished(secret), {
          ...newest,
          mode,
          served,
          publishedAt,
        });
        assert.equal(formerIn(secret), "s\nd");
        assert.deepEqual(Object.keys(secret.data ?? {}).toSorted(), allKeys.toSorted());
      },
    ),
  );
});

const emptyBeside: readonly (readonly [
  condition: string,
  served: Declared["served"],
  text: string,
])[] = [
  ["nothing is served", "nothing", "0"],
  ["the newest content is served", numbered(4), "4"],
];
for (const [condition, served, number] of emptyBeside)
  test(`when ${condition}, empties every key of the served slot except the revision`, () => {
    const { data = {} } = globalSecret(declared({ served }));
    const { revision, ...others } = servedKeys;
    assert.equal(data[revision], encoded(number));
    for (const key of Object.values(others)) assert.equal(data[key], "", key);
  });

const edits: readonly (readonly [
  what: string,
  data: Readonly<Record<string, string | undefined>>,
  expected: "absent" | Partial<ReturnType<typeof readPublished>>,
])[] = [
  ["a revision of 0", { revision: encoded("0") }, "absent"],
  ["a revision that is not a number", { revision: encoded("four") }, "absent"],
  ["a revision of 16 digits", { revision: encoded("1".repeat(16)) }, "absent"],
  ["a revision that is not base64", { revision: "////" }, "absent"],
  ["no revision", { revision: undefined }, "absent"],
  ["an unknown mode", { mode: encoded("Later") }, { mode: undefined }],
  ["no mode", { mode: undefined }, { mode: undefined }],
  ["no served revision", { "served.revision": undefined }, { served: "nothing" }],
  [
    "a served revision that is not a number",
    { "served.revision": encoded("x") },
    { served: "nothing" },
  ],
  [
    "a served revision above the newest revision",
    { "served.revision": encoded("5") },
    { served: "nothing" },
  ],
  ["the newest revision as served", { "served.revision": encoded("4") }, { served: numbered(4) }],
  ["an unknown intent", { intent: encoded("aply") }, { intent: "apply" }],
];
for (const [what, data, expected] of edits)
  test(`reads ${what} as ${expected === "absent" ? "an absent Secret" : "far as it is valid"}`, () => {
    const secret = globalSecret(declared());
    const read = readPublished({ ...secret, data: { ...secret.data, ...data } as never });
    if (expected === "absent") assert.equal(read, undefined);
    else assert.partialDeepStrictEqual(read, expected);
  });

const time = "globalpullsecret.io/published";
for (const [what, metadata] of [
  ["no annotations", {}],
  ["no time of publication", { annotations: {} }],
  ["a time of publication that is not a time", { annotations: { [time]: "soon" } }],
] as const)
  test(`reads ${what} as published long ago`, () => {
    const secret = globalSecret(declared());
    const read = readPublished({ ...secret, metadata });
    assert.deepEqual(read, { ...readPublished(secret), publishedAt: 0 });
  });

test("law: never throws, whatever the Secret contains", () => {
  const key = fc.constantFrom(...allKeys);
  const value = fc.oneof(fc.string(), fc.base64String(), fc.string().map(encoded));
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.string(), (data, published) => {
      const annotations = { "globalpullsecret.io/published": published };
      const read = readPublished({ data, metadata: { annotations } });
      if (read === undefined) return;
      suppliersIn(read);
      contentDigest(read);
      assert.ok(read.revision > 0 && Number.isFinite(read.publishedAt));
    }),
  );
  for (const secret of [undefined, {}, { data: {} }])
    assert.equal(readPublished(secret), undefined);
});

const others: readonly (readonly [what: string, changes: Partial<Numbered>])[] = [
  ["another document", { document: "{}" }],
  ["other sources", { sources: "{}" }],
  ["another intent", { intent: "release" }],
  ["another salt", { salt: newSalt() }],
];
for (const [what, changes] of others)
  test(`computes a different digest for ${what}`, () => {
    assert.notEqual(contentDigest(numbered(4, changes)), contentDigest(numbered(4)));
  });

test("computes the same digest when only the revision differs", () => {
  const { salt } = numbered(4);
  assert.equal(contentDigest(numbered(5, { salt })), contentDigest(numbered(4)));
});

test("computes no digest for content without a usable salt", () => {
  for (const length of [0, 3, 31, 33])
    assert.equal(contentDigest(numbered(4, { salt: Buffer.alloc(length) })), "");
});

const manager = "global-pull-secret-controller";
const fields = (keys: readonly string[]) => ({
  "f:data": Object.fromEntries(keys.map((key) => [`f:${key}`, {}])),
});
/** The Secret, with one key that another client wrote. */
function written(key: string | undefined, data = globalSecret(declared()).data ?? {}): V1Secret {
  const ours = Object.keys(data).filter((dataKey) => dataKey !== key);
  return {
    data,
    metadata: {
      managedFields: [
        { manager, operation: "Apply", fieldsV1: fields(ours) },
        ...(key === undefined
          ? []
          : [{ manager: "kubectl", operation: "Update", fieldsV1: fields([key]) }]),
      ],
    },
  };
}
for (const key of allKeys)
  test(`finds an edit when another client wrote ${key}`, () => {
    assert.equal(isEdited(written(undefined)), false);
    assert.equal(isEdited(written(key)), true);
  });

test("finds an edit when another client removed a key of the newest content", () => {
  const { data = {} } = globalSecret(declared());
  for (const key of ["salt", "intent", "sources", "revision"]) {
    const { [key]: _, ...rest } = data;
    assert.equal(isEdited(written(undefined, rest)), true, key);
  }
});

test("finds no edit when someone added other keys", () => {
  const data = { ...globalSecret(declared()).data, theirs: "eA==" };
  assert.equal(isEdited(written("theirs", data)), false);
});

test("names no supplier when the sources have a shape that this version does not know", () => {
  for (const said of [
    '{"a.io":{"source":"additional"}}',
    '{"a.io":["additional"]}',
    '["additional"]',
    "null",
    "1",
    "{]",
    "",
  ])
    assert.notEqual(suppliersIn({ sources: said })["a.io"], "additional", said);
  assert.equal(suppliersIn({ sources: "{}" })["constructor"], undefined);
});

const docker = "https://index.docker.io/v1/";
const withAuths = (...registries: readonly string[]): string =>
  JSON.stringify({
    auths: Object.fromEntries(registries.map((registry) => [registry, { auth: "eDp5" }])),
    credHelpers: { "x.example": "y" },
  });
const leaving: readonly (readonly [
  what: string,
  served: readonly string[],
  newer: readonly string[],
  left: readonly string[],
])[] = [
  ["a registry that newer content lacks", ["a.example", "b.example"], ["b.example"], ["b.example"]],
  ["all registries", ["a.example"], [], []],
  ["no registry that is only spelled differently", [docker], ["docker.io"], [docker]],
  ["no registry that newer content adds to", ["a.example"], ["a.example", "b"], ["a.example"]],
];
for (const [what, served, newer, left] of leaving)
  test(`takes out of the served content ${what}`, () => {
    const sources = JSON.stringify(Object.fromEntries(served.map((key) => [key, "additional"])));
    const before = numbered(3, { document: withAuths(...served), sources });
    const after = withoutRemoved(before, withAuths(...newer));
    assert.deepEqual(JSON.parse(after.document), JSON.parse(withAuths(...left)));
    assert.deepEqual(Object.keys(JSON.parse(after.sources)), left);
    assert.deepEqual([after.revision, after.salt], [before.revision, before.salt]);
    const isSame = left.length === served.length;
    assert.equal(contentDigest(after) === contentDigest(before), isSame);
    assert.equal(hasOtherRegistries(before, withAuths(...newer)), !isSame);
  });

test("finds no registry in a malformed document", () => {
  for (const document of ["", "null", "[]", '{"auths":null}']) {
    assert.equal(hasOtherRegistries(numbered(3, { document }), "{}"), false);
    assert.equal(withoutRemoved(numbered(3, { document }), "{}").document, document);
  }
});

test("remembers digests of additional values that left, but neither the original's nor present values", () => {
  const entry = (password: string) => ({ auth: Buffer.from(`u:${password}`).toString("base64") });
  const content = (auths: Record<string, object>, sources: Record<string, string>) => ({
    document: JSON.stringify({ auths }),
    sources: JSON.stringify(sources),
  });
  const before = content(
    { "a.io": entry("old"), "b.io": entry("same"), "c.io": entry("original") },
    { "a.io": "additional", "b.io": "additional", "c.io": "original" },
  );
  const published = globalSecret(declared({ newest: numbered(4, before) }));
  const next = content({ "b.io": entry("same") }, { "b.io": "additional" });
  const former = readFormer(formerAfter(published, next));
  const isKnown = (key: string, password: string) =>
    isFormer(former, { key, entry: JSON.stringify(entry(password)) });
  assert.deepEqual(
    [isKnown("a.io", "old"), isKnown("b.io", "same"), isKnown("c.io", "original")],
    [true, false, false],
  );
});

test("remembers them also if the revision is malformed", () => {
  const sources = '{"a.io":"additional"}';
  const newest = numbered(4, { document: '{"auths":{"a.io":{"auth":"x"}}}', sources });
  const secret = globalSecret(declared({ newest, former: "salt\nolder" }));
  const damaged = { ...secret, data: { ...secret.data, [secretKeys.revision]: "N3g=" } };
  assert.equal(readPublished(damaged), undefined);
  const [salt, ...digests] = formerAfter(damaged, { document: "{}", sources: "{}" }).split("\n");
  assert.deepEqual([salt, digests[0], digests.length], ["salt", "older", 2]);
});

test("remembers the newest values longest if more leave than it can keep", () => {
  const content = (password: string) => {
    const keys = Array.from({ length: 600 }, (_, index) => `r${index}.io`);
    const auths = Object.fromEntries(keys.map((key) => [key, { auth: password }]));
    const sources = Object.fromEntries(keys.map((key) => [key, "additional"]));
    return { document: JSON.stringify({ auths }), sources: JSON.stringify(sources) };
  };
  const [newest, served] = [numbered(4, content("new")), numbered(3, content("served"))];
  const secret = globalSecret(declared({ newest, served }));
  const former = readFormer(formerAfter(secret, { document: "{}", sources: "{}" }));
  const count = (auth: string) =>
    Array.from({ length: 600 }, (_, index) => `r${index}.io`).filter((key) =>
      isFormer(former, { key, entry: JSON.stringify({ auth }) }),
    ).length;
  assert.deepEqual([count("new"), count("served")], [600, 400]);
});
