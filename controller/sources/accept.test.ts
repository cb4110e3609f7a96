import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { capacity } from "#pullsecret/merge/capacity.ts";
import {
  acceptedFrom,
  additional,
  bad,
  original,
  originalName,
  remembered,
  policy,
  secret,
  sources,
  text,
} from "./accept.fixture.ts";
import { accept } from "./accept.ts";
import { globalSecret, newSalt } from "../objects/global-secret.ts";
import { noState } from "../objects/state.fixture.ts";
import { stateSecret } from "../objects/state.ts";

test("H9: prefers the additional Secret on a conflict, and records the supplier of each registry", () => {
  const { target } = accept(sources({ additional, original, originalName }), policy);
  assert.equal(
    target?.document,
    text({ "a.example": "add:2", "o.example": "orig:2", "quay.io": "add:1" }),
  );
  assert.equal(
    target.sources,
    '{"a.example":"additional","o.example":"original","quay.io":"additional"}',
  );
});

test("H19: records a rewritten document only if it has another meaning or is shorter", () => {
  const entries = { "quay.io": "add:1", "a.example": "add:2" };
  const short = text(entries);
  const reordered = text(Object.fromEntries(Object.entries(entries).toReversed()));
  const long = `${JSON.stringify(JSON.parse(reordered), undefined, 2)}\n`;
  const after = (before: string, now: string) => {
    const previous = acceptedFrom({ additional: secret(before) });
    return accept(sources({ ...previous, additional: secret(now) }), policy).accepted["additional"];
  };
  assert.equal(after(short, long), short);
  assert.equal(after(short, reordered), short);
  assert.equal(after(short, short.replace("quay.io", "https://quay.io/v2/")), short);
  // The limit for all sources together counts the recorded bytes, so the shorter document must be
  // recorded.
  assert.equal(after(long, short), short);
  for (const other of [
    text({ ...entries, "a.example": "add:3" }),
    text({ ...entries, "b.example": "add:3" }),
  ])
    assert.equal(after(short, other), other);
});

test("H19: notices changes of an original's keys beside auths", () => {
  const [document, other] = [1, 2].map((n) => JSON.stringify({ note: n, ...JSON.parse(text({})) }));
  assert.ok(document !== undefined && other !== undefined);
  const previous = acceptedFrom({ additional, original: secret(document), originalName });
  for (const [now, expected] of [
    [other, other],
    [` ${document}`, document],
  ] as const) {
    const finds = { ...previous, additional, original: secret(now), originalName };
    assert.equal(accept(sources(finds), policy).accepted["original"], expected);
  }
});

test("H7, H24: deploys nothing for an invalid additional Secret that was never valid, and names the key path", () => {
  const { target, problems } = accept(sources({ additional: bad, original, originalName }), policy);
  assert.equal(target, undefined);
  assert.match(problems.additional[0]?.path ?? "", /auths\["quay\.io"\]\.auth/);
});

test("keeps the last accepted entries of an invalid additional Secret while the original rotates", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const rotated = secret(text({ "quay.io": "orig:1", "o.example": "rotated:2" }));
  const { target, problems } = accept(
    sources({ additional: bad, original: rotated, originalName, ...before }),
    policy,
  );
  assert.equal(
    target?.document,
    text({ "a.example": "add:2", "o.example": "rotated:2", "quay.io": "add:1" }),
  );
  assert.equal(problems.additional.length, 1);
  assert.deepEqual(problems.original, []);
});

test("reports the warnings of the additional Secret only while it is valid", () => {
  const first = sources({ additional, original, originalName });
  const codesOf = (finds: typeof first) => accept(finds, policy).warnings.map(({ code }) => code);
  assert.deepEqual(codesOf(first), ["GPS164"]);
  const before = remembered(accept(first, policy));
  assert.deepEqual(codesOf(sources({ additional: bad, original, originalName, ...before })), []);
});

test("keeps the published content when both sources are invalid, and reports both", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const { target, problems } = accept(
    sources({ additional: bad, original: bad, originalName, ...before }),
    policy,
  );
  assert.equal(target?.document, before.published.document);
  assert.equal(target.sources, before.published.sources);
  assert.equal(problems.additional.length, 1);
  assert.equal(problems.original.length, 1);
});

test("does not delay the additional Secret when the original does not exist yet", () => {
  const { target } = accept(sources({ additional, originalName }), policy);
  assert.equal(target?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
});

test("wants only the original's content for a removal", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const { target } = accept(sources({ original, originalName, ...before }), policy);
  assert.equal(target?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
  assert.equal(
    accept(sources(acceptedFrom({ additional })), policy).target?.document,
    '{"auths":{}}',
  );
});

test("refuses the whole additional Secret if it has a protected registry, and keeps its last accepted entries", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const strict = { conflicts: "additional", protect: ["o.example"] } as const;
  const shadow = secret(text({ "o.example/team": "add:3" }));
  const { target, problems } = accept(
    sources({ additional: shadow, original, originalName, ...before }),
    strict,
  );
  assert.equal(target?.document, before.published.document);
  assert.equal(problems.additional.length, 1);
  assert.equal(
    accept(sources({ additional: shadow, original, originalName }), strict).target,
    undefined,
  );
});

const refused: readonly (readonly [sentence: string, secret: V1Secret, code: string])[] = [
  ["another type", secret(text({}), "Opaque"), "GPS301"],
  ["no key .dockerconfigjson", secret(undefined), "GPS302"],
];
for (const [sentence, refusedSecret, code] of refused) {
  test(`H2: ${sentence} is refused`, () => {
    assert.equal(
      accept(sources({ additional: refusedSecret }), policy).problems.additional[0]?.code,
      code,
    );
  });
}

test("has the intent `apply` as long as there is an additional Secret, whatever source the entries come from", () => {
  const same = secret(text({ "quay.io": "orig:1" }));
  const { target } = accept(sources({ additional: same, original, originalName }), policy);
  assert.doesNotMatch(target?.sources ?? "", /additional/);
  assert.equal(target?.intent, "apply");
  assert.equal(accept(sources({ original, originalName }), policy).target?.intent, "release");
});

test("accepts an absent additional Secret, whatever the flags and the original are", () => {
  const tooLarge = padded("o.example", "p:1", capacity + 1);
  const huge = secret(tooLarge);
  for (const protect of [[], ["quay.io"], ["quay.io/*"]])
    for (const first of [original, bad, huge, "absent", "unknown"] as const)
      for (const before of [
        acceptedFrom({ additional, original, originalName }),
        { published: undefined, state: noState },
        // A record that an earlier version accepted.
        { published: undefined, state: { ...noState, accepted: { original: tooLarge } } },
      ]) {
        const { target, problems } = accept(sources({ original: first, originalName, ...before }), {
          ...policy,
          protect,
        });
        assert.equal(target?.intent, "release");
        assert.equal(problems.original.length > 0, first !== original);
      }
});

test("keeps the published content in force even when a changed flag forbids this content", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const strict = { conflicts: "additional", protect: ["a.example"] } as const;
  const { target, problems, accepted } = accept(
    sources({ additional, original, originalName, ...before }),
    strict,
  );
  assert.equal(target?.document, before.published.document);
  assert.equal(target.sources, before.published.sources);
  assert.equal(problems.additional.length, 1);
  assert.deepEqual({ ...accepted }, { ...before.state.accepted });
});

/**
 * A document with one entry and exactly this many bytes. White space counts for a source, but not
 * for the merged document.
 */
function padded(registry: string, pair: string, bytes: number): string {
  const document = text({ [registry]: pair });
  return document + " ".repeat(bytes - document.length);
}

/** A document whose canonical form has exactly this many bytes. */
function filled(registry: string, bytes: number): string {
  const of = (length: number) =>
    JSON.stringify({
      auths: { [registry]: { auth: Buffer.from(`u:${"p".repeat(length)}`).toString("base64") } },
    });
  const length = Math.floor(((bytes - of(1).length) / 4) * 3);
  return of(length);
}

const small = text({ "o.example": "orig:1" });
const sizes: readonly (readonly [sentence: string, additional: string, refused: boolean])[] = [
  [
    "accepts sources of 480 KiB together",
    padded("a.example", "add:1", capacity - small.length),
    false,
  ],
  [
    "refuses sources that are one byte longer",
    padded("a.example", "add:1", capacity - small.length + 1),
    true,
  ],
  [
    "accepts entries if the merged document and the list of their sources fit",
    filled("a.example", capacity - small.length - 40),
    false,
  ],
  [
    "refuses entries if the merged document and the list of their sources do not fit",
    filled("a.example", capacity - small.length - 2),
    true,
  ],
];
for (const [sentence, document, refused] of sizes) {
  test(sentence, () => {
    const originally = secret(small);
    const before = acceptedFrom({ additional, original: originally, originalName });
    const sourceSet = sources({
      additional: secret(document),
      original: originally,
      originalName,
      ...before,
    });
    const { target, problems, accepted } = accept(sourceSet, policy);
    assert.equal(target?.document === before.published.document, refused);
    assert.deepEqual(
      problems.additional.map(({ code }) => code),
      refused ? ["GPS308"] : [],
    );
    assert.equal(accepted["additional"] === document, !refused);
  });
}

test("refuses only an original that grows too large, and still delivers the additional Secret's changes", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const sourceSet = sources({
    additional: secret(text({ "quay.io": "add:new" })),
    original: secret(padded("o.example", "orig:3", capacity + 1)),
    originalName,
    ...before,
  });
  const { target, problems } = accept(sourceSet, policy);
  assert.equal(target?.document, text({ "o.example": "orig:2", "quay.io": "add:new" }));
  assert.equal(problems.original[0]?.code, "GPS308");
  assert.deepEqual(problems.additional, []);
});

test("law: fits the recorded documents into one Secret, and the published and served content into the other Secret", () => {
  const worst = { document: '"'.repeat(capacity - 2), sources: "{}", intent: "release" } as const;
  const revision = 999_999_999_999_999;
  const state = {
    ...noState,
    accepted: { original: '"'.repeat(capacity) },
    absentSince: new Map([["additional", new Date()]]),
  };
  const bytes = (data: Record<string, string> = {}) =>
    Object.values(data).reduce((sum, value) => sum + Buffer.from(value, "base64").length, 0);
  const freeBytes = 1024 * 1024 - bytes(stateSecret(state).data);
  assert.ok(freeBytes >= 512 * 1024, `${freeBytes} bytes are left for the rollout's state`);
  const both = globalSecret({
    newest: { ...worst, revision, salt: newSalt() },
    mode: "CredentialProvider",
    served: { ...worst, revision: revision - 1, salt: newSalt() },
    publishedAt: 1,
    former: "x".repeat(24_000),
  });
  assert.ok(bytes(both.data) < 1024 * 1024);
});
