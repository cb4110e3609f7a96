/** What a source says now, and what stands in for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptedFrom,
  additional,
  auth,
  bad,
  olderFrom,
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
import { noState } from "../objects/state.ts";

const one = (pair: string) => secret(text({ "quay.io": pair }));

test("an original that becomes equal to the additional takes nothing from any node", () => {
  const before = acceptedFrom({ additional: one("u:B"), original: one("u:A"), originalName });
  const { wanted } = accept(
    sources({ additional: one("u:B"), original: one("u:B"), originalName, ...before }),
    policy,
  );
  assert.equal(wanted?.intent, "apply");
  assert.equal(wanted.document, text({ "quay.io": "u:B" }));
});

test("an additional that only repeats the original, or that wins no conflict, is applied all the same", () => {
  const repeats = accept(
    sources({ additional: one("u:A"), original: one("u:A"), originalName }),
    policy,
  );
  assert.equal(repeats.wanted?.intent, "apply");
  const given = sources({ additional: one("u:B"), original: one("u:A"), originalName });
  const loses = accept(given, { conflicts: "original", protect: [] });
  assert.equal(loses.wanted?.intent, "apply");
  assert.equal(loses.wanted.document, text({ "quay.io": "u:A" }));
});

test("a broken additional keeps what it had in common with the original when that rotates to something else", () => {
  const before = acceptedFrom({ additional: one("u:B"), original: one("u:B"), originalName });
  const { wanted } = accept(
    sources({ additional: bad, original: one("u:C"), originalName, ...before }),
    policy,
  );
  assert.equal(wanted?.document, text({ "quay.io": "u:B" }));
});

test("a broken original keeps what the additional had overridden, for the day on which that is withdrawn", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const { wanted } = accept(sources({ original: bad, originalName, ...before }), policy);
  assert.equal(wanted?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
});

test("an installation without memory falls back to the labels once, and remembers what it found", () => {
  const older = olderFrom({ additional, original, originalName });
  const first = accept(sources({ additional: bad, original: bad, originalName, ...older }), policy);
  assert.equal(first.wanted?.document, older.published.document);
  const state = { ...noState, accepted: first.accepted };
  // Rotated to the very value that the additional had: by its label the entry would be the
  // original's from now on.
  const rotated = secret(text({ "quay.io": "add:1", "a.example": "add:2" }));
  const published = acceptedFrom({ additional, original: rotated, originalName }).published;
  const { wanted } = accept(
    sources({ additional: bad, original: one("u:C"), originalName, published, state }),
    policy,
  );
  assert.equal(wanted?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
});

const useless = [
  "{}",
  "null",
  '{"auths":null}',
  '{"quay.io":{"auth":"dTpw"}}',
  '{"credHelpers":{"quay.io":"ecr"}}',
];
for (const document of useless) {
  test(`an original of ${document} is refused, and its last good entries stay`, () => {
    const before = acceptedFrom({ additional, original, originalName });
    const given = sources({ additional, original: secret(document), originalName, ...before });
    const { wanted, problems, accepted } = accept(given, policy);
    assert.equal(wanted?.document, before.published.document);
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
    const given = sources({ additional, original: secret(document), originalName, ...before });
    const { wanted, problems } = accept(given, policy);
    assert.equal(wanted?.document, before.published.document);
    assert.equal(problems.original[0]?.code, "GPS132");
  });
}

test("an original with one credential beside empty entries is taken", () => {
  const document = `{"auths":{"a.io":{},"o.example":${JSON.stringify(auth("orig:3"))}}}`;
  const given = sources({ additional, original: secret(document), originalName });
  assert.deepEqual(accept(given, policy).problems.original, []);
});

test("an original that says it has no entries is believed", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const given = sources({ additional, original: secret('{"auths":{}}'), originalName, ...before });
  const { wanted, problems } = accept(given, policy);
  assert.equal(wanted?.document, text({ "a.example": "add:2", "quay.io": "add:1" }));
  assert.deepEqual(problems.original, []);
});

test("an original that cannot be asked for is no absent one: its last good entries stay, and a removal goes on", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const given = sources({ additional, original: "unknown", originalName, ...before });
  const { wanted, problems, unknown } = accept(given, policy);
  assert.equal(wanted?.document, before.published.document);
  assert.deepEqual([problems.original[0]?.code, unknown], ["GPS309", true]);
  const removal = accept({ ...given, inputs: withdrawn(given.inputs) }, policy).wanted;
  assert.deepEqual(removal?.document, text({ "o.example": "orig:2", "quay.io": "orig:1" }));
  assert.equal(removal.intent, "release");
  assert.equal(accept(sources({ additional, original: "unknown" }), policy).unknown, false);
});

test("an absent additional that is kept has its last good entries, while the original's rotation flows", () => {
  const before = acceptedFrom({ additional, original, originalName });
  const rotated = secret(text({ "o.example": "rotated:2" }));
  const given = sources({ additional: "kept", original: rotated, originalName, ...before });
  const { wanted, problems, accepted } = accept(given, policy);
  assert.equal(
    wanted?.document,
    text({ "a.example": "add:2", "o.example": "rotated:2", "quay.io": "add:1" }),
  );
  assert.equal(wanted.intent, "apply");
  assert.deepEqual(problems, { original: [], additional: [] });
  assert.equal(accepted["additional"], before.state.accepted["additional"]);
});

const pairs = fc.constantFrom("u:A", "u:B", "u:C");
const documents = fc.dictionary(fc.constantFrom("quay.io", "a.example", "quay.io/team"), pairs, {
  maxKeys: 3,
});
const valid = documents.map((entries) => secret(text(entries)));
/** What tools leave beside real entries. An additional leaves it out; nodes try it. */
const leftovers = fc.dictionary(
  fc.constantFrom("quay.io/team", "a.example", "docker.io"),
  fc.constantFrom<object | null>({}, { auth: "" }, { email: "a@b" }, null),
);
const beside = fc.tuple(documents, leftovers).map(([entries, others]) => {
  const { auths } = JSON.parse(text(entries)) as { auths: object };
  return secret(JSON.stringify({ auths: { ...others, ...auths } }));
});
const turns = fc.record({
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

test("law: whatever becomes of a source, what it last said in order is in force, whatever the other says", () => {
  fc.assert(
    fc.property(
      fc.array(turns, { maxLength: 8 }),
      fc.constantFrom("additional", "original"),
      (history, conflicts) => {
        const rule = { conflicts, protect: [] };
        let before: Pick<Finds, "published" | "state"> = { published: undefined, state: noState };
        const last: { additional?: V1Secret; original?: V1Secret } = {};
        for (const turn of history) {
          const verdict = accept(sources({ ...turn, originalName, ...before }), rule);
          const inOrder = (role: "additional" | "original") => verdict.problems[role].length === 0;
          if (inOrder("additional") && turn.additional !== "kept")
            last.additional = turn.additional;
          if (last.additional === undefined) {
            assert.equal(verdict.wanted, undefined);
            continue;
          }
          if (inOrder("original") && typeof turn.original === "object")
            last.original = turn.original;
          const ideal = accept(sources({ original: "absent", originalName, ...last }), rule).wanted;
          assert.equal(verdict.wanted?.document, ideal?.document);
          assert.equal(verdict.wanted?.intent, "apply");
          before = remembered(verdict);
        }
      },
    ),
  );
});
