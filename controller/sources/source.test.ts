/** The present document of a source, and the last accepted document that replaces a refused one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptedFrom,
  additional,
  auth,
  bad,
  original,
  originalName,
  policy,
  remembered,
  secret,
  sources,
  text,
  type Finds,
} from "./accept.fixture.ts";
import type { V1Secret } from "@kubernetes/client-node";
import fc from "fast-check";
import { accept } from "./accept.ts";
import { withdrawn } from "./input.ts";
import { noState } from "../objects/state.fixture.ts";

const secretWith = (pair: string) => secret(text({ "quay.io": pair }));

test("applies an additional Secret that only repeats the original, or that loses every conflict", () => {
  const repeats = accept(
    sources({ additional: secretWith("u:A"), original: secretWith("u:A"), originalName }),
    policy,
  );
  assert.equal(repeats.target?.intent, "apply");
  const sourceSet = sources({
    additional: secretWith("u:B"),
    original: secretWith("u:A"),
    originalName,
  });
  const loses = accept(sourceSet, { conflicts: "original", protect: [] });
  assert.equal(loses.target?.intent, "apply");
  assert.equal(loses.target.document, text({ "quay.io": "u:A" }));
});

test("keeps a broken original's entries, so that a withdrawal restores those that the additional Secret overrides", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const { target } = accept(sources({ original: bad, originalName, ...before }), policy);
  assert.equal(target?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
});

const extras = { team: secret(text({ "team.example": "team:1" })) };
const unreadable: readonly (readonly [what: string, finds: Partial<Finds>])[] = [
  ["the additional Secret is refused", { additional: bad }],
  ["the additional Secret was deleted and is kept", { additional: "kept" }],
  ["another source is refused", { extras: { team: bad } }],
  ["another source was deleted and is kept", { extras: { team: "kept" } }],
  ["another source cannot be read", { extras: { team: "unknown" } }],
  ["another source may not be read", { extras: { team: "forbidden" } }],
  ["the original is refused", { original: bad }],
  ["the original is missing", { original: "absent" }],
  ["the original cannot be read", { original: "unknown" }],
];
for (const [what, finds] of unreadable)
  test(`keeps and records what is published if the state was deleted while ${what}`, () => {
    const all = { additional, extras, original, originalName };
    const { published } = acceptedFrom(all);
    const lost = { ...all, published, state: noState, ...finds };
    const { target, accepted } = accept(sources(lost), policy);
    assert.equal(target?.document, published.document);
    const state = { ...noState, accepted };
    const next = accept(sources({ ...lost, published: undefined, state }), policy);
    assert.equal(next.target?.document, published.document);
  });

test("if the state was deleted, keeps the original's other keys although its entries are overridden", () => {
  const other = secret('{"auths":{"quay.io":{"auth":"dTpw"}},"credHelpers":{"x.io":"helper"}}');
  const { published } = acceptedFrom({ additional, original: other, originalName });
  const lost = { additional, original: "absent", originalName, published, state: noState } as const;
  assert.equal(accept(sources(lost), policy).target?.document, published.document);
});

test("takes no published entry for a source's own if the state is there and does not record the source", () => {
  const { state } = acceptedFrom({ additional });
  const edited = acceptedFrom({ additional, extras });
  const refused = { additional, extras: { team: bad }, published: edited.published, state };
  const { target, accepted } = accept(sources(refused), policy);
  assert.equal(target?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
  assert.equal(accepted["team"], undefined);
});

const useless = [
  "{}",
  "null",
  '{"auths":null}',
  '{"quay.io":{"auth":"dTpw"}}',
  '{"credHelpers":{"quay.io":"ecr"}}',
];
for (const document of useless) {
  test(`an original of ${document} is refused, and its last accepted entries stay`, () => {
    const before = acceptedFrom({ additional, original, originalName });
    const sourceSet = sources({ additional, original: secret(document), originalName, ...before });
    const { target, problems, accepted } = accept(sourceSet, policy);
    assert.equal(target?.document, before.published.document);
    assert.equal(problems.original[0]?.code, "GPS110");
    assert.deepEqual(accepted, { ...before.state.accepted });
  });
}

const empty = [
  '{"auths":{"quay.io":{}}}',
  '{"auths":{"quay.io":null,"a.io":{}},"credsStore":"desktop"}',
];
for (const document of empty) {
  test(`an original of ${document}, whose credentials are elsewhere, is refused`, () => {
    const before = acceptedFrom({ additional, original, originalName });
    const sourceSet = sources({ additional, original: secret(document), originalName, ...before });
    const { target, problems } = accept(sourceSet, policy);
    assert.equal(target?.document, before.published.document);
    assert.equal(problems.original[0]?.code, "GPS132");
  });
}

test("accepts an original with one credential beside empty entries", () => {
  const document = `{"auths":{"a.io":{},"o.example":${JSON.stringify(auth("orig:3"))}}}`;
  const sourceSet = sources({ additional, original: secret(document), originalName });
  assert.deepEqual(accept(sourceSet, policy).problems.original, []);
});

test("treats an original that is emptied like a deleted one, and accepts one that was always empty", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const emptied = { additional, original: secret('{"auths":{}}'), originalName };
  const former = accept(
    sources({ additional, original: "absent", originalName, ...before }),
    policy,
  );
  const { target, problems } = accept(sources({ ...emptied, ...before }), policy);
  assert.equal(target?.document, former.target?.document);
  assert.deepEqual(
    problems.original.map(({ code }) => code),
    ["GPS303"],
  );
  const first = accept(sources(emptied), policy);
  assert.equal(first.target?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
  assert.deepEqual(first.problems.original, []);
});

test("treats an unreadable original as unknown, not absent: its last accepted entries stay, and a removal continues", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const sourceSet = sources({ additional, original: "unknown", originalName, ...before });
  const { target, problems, unknown } = accept(sourceSet, policy);
  assert.equal(target?.document, before.published.document);
  assert.deepEqual([problems.original[0]?.code, unknown], ["GPS309", true]);
  const removal = accept({ ...sourceSet, inputs: withdrawn(sourceSet.inputs) }, policy).target;
  assert.deepEqual(removal?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
  assert.equal(removal.intent, "release");
  assert.equal(accept(sources({ additional, original: "unknown" }), policy).unknown, false);
});

const pairs = fc.constantFrom("u:A", "u:B", "u:C");
const documents = fc.dictionary(fc.constantFrom("quay.io", "a.example", "quay.io/team"), pairs, {
  maxKeys: 3,
});
const valid = documents.map((entries) => secret(text(entries)));
/**
 * Empty entries that tools leave beside real entries. The controller leaves them out of an
 * additional Secret, because kubelets would try them.
 */
const leftovers = fc.dictionary(
  fc.constantFrom("quay.io/team", "a.example", "docker.io"),
  fc.constantFrom<object | null>({}, { auth: "" }, { email: "a@b" }, null),
);
const beside = fc.tuple(documents, leftovers).map(([entries, others]) => {
  const { auths } = JSON.parse(text(entries)) as { auths: object };
  return secret(JSON.stringify({ auths: { ...others, ...auths } }));
});
const changes = fc.record({
  additional: fc.oneof(
    valid,
    beside,
    fc.constantFrom(bad, secret(undefined), secret(text({}), "Opaque"), "kept" as const),
  ),
  original: fc.oneof(
    valid,
    fc.constantFrom(bad, secret("{}"), "absent" as const, "unknown" as const),
  ),
});

test("law: keeps a source's last accepted document in force, whatever happens to both sources", () => {
  fc.assert(
    fc.property(
      fc.array(changes, { maxLength: 8 }),
      fc.constantFrom("additional", "original"),
      (history, conflicts) => {
        const rule = { conflicts, protect: [] };
        let before: Pick<Finds, "published" | "state"> = { published: undefined, state: noState };
        const last: { additional?: V1Secret; original?: V1Secret } = {};
        for (const change of history) {
          const verdict = accept(sources({ ...change, originalName, ...before }), rule);
          const inOrder = (role: "additional" | "original") => verdict.problems[role].length === 0;
          if (inOrder("additional") && change.additional !== "kept")
            last.additional = change.additional;
          if (last.additional === undefined) {
            assert.equal(verdict.target, undefined);
            continue;
          }
          if (inOrder("original") && typeof change.original === "object")
            last.original = change.original;
          const ideal = accept(sources({ original: "absent", originalName, ...last }), rule).target;
          assert.equal(verdict.target?.document, ideal?.document);
          assert.equal(verdict.target?.intent, "apply");
          before = remembered(verdict);
        }
      },
    ),
  );
});
