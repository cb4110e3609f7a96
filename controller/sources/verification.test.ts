import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answers, Plan, Question, Verdict } from "#registry/question.ts";
import type { VerificationPolicy } from "#controller/policy/policy.ts";
import {
  acceptedFrom,
  originalName,
  policy,
  secret,
  sources,
  text,
  type Finds,
} from "./accept.fixture.ts";
import { accept, noSourceApplies } from "./accept.ts";
import { verified, withheldOf } from "./verification.ts";

const said = (answer: Verdict["answer"]): Answers => [
  { answer, why: "the registry answers 401", asked: true, at: "2026-01-01T00:00:00.000Z" },
];
const [accepts, denies, silent] = [said("Accepted"), said("Denied"), said("Unknown")];

/**
 * Answers by user name, or by `USER login` to logins only; other questions have no answer yet.
 */
function run(
  finds: Partial<Finds>,
  byUser: Readonly<Record<string, Answers>>,
  changes: Partial<VerificationPolicy> = {},
) {
  const asked: string[] = [];
  const answersOf = ({ tries, pull }: Question) => {
    const { username } = tries[0]?.credential ?? {};
    return byUser[`${username}`] ?? (pull === undefined ? byUser[`${username} login`] : undefined);
  };
  const asking = {
    verification: { mode: "Refuse" as const, images: [], intervalSeconds: 3600, ...changes },
    verifier: {
      look: ({ pulls, logins }: Plan) => {
        for (const { question } of [...pulls, ...logins])
          if ("id" in question) asked.push(question.host);
        return answersOf;
      },
    },
  };
  const read = sources(finds);
  const withheld = withheldOf(read, policy, asking);
  const all = { ...read, withheld };
  const verdict = verified(accept(all, policy), withheld, asking);
  return {
    asked,
    verdict,
    document: verdict.target?.document,
    applies: !noSourceApplies(all),
    withheld: Object.fromEntries(
      [...withheld].map(([id, all]) => [id, all.map(({ code }) => code)]),
    ),
    states: Object.fromEntries(verdict.sources.map(({ name, reason }) => [name, reason])),
  };
}

const old = secret(text({ "a.io": "old:1" }));
const newer = secret(text({ "a.io": "new:1" }));
const before = acceptedFrom({ additional: old });
const images = ["a.io/team/app:1"];
const name = "additional-pull-secret";

test("keeps the last accepted document when a new credential is denied, with a code", () => {
  const { document, verdict, states } = run({ additional: newer, ...before }, { new: denies });
  assert.equal(document, text({ "a.io": "old:1" }));
  assert.deepEqual(verdict.accepted, { additional: text({ "a.io": "old:1" }) });
  assert.deepEqual(states, { [name]: "Rejected" });
  const [problem] = verdict.problems.additional;
  assert.deepEqual([problem?.code, problem?.path], ["GPS341", 'auths["a.io"]']);
});

test("publishes nothing of a source that was denied from the beginning", () => {
  const { verdict, states } = run({ additional: newer }, { new: denies });
  assert.deepEqual([verdict.target, states], [undefined, { [name]: "Rejected" }]);
});

test("waits for the answers about a new credential, and reports nothing as refused", () => {
  const { document, states, withheld, verdict } = run({ additional: newer, ...before }, {});
  assert.equal(document, text({ "a.io": "old:1" }));
  assert.deepEqual([states, withheld], [{ [name]: "Verifying" }, { additional: [] }]);
  const [registry] = verdict.registries;
  assert.deepEqual([registry?.verified, registry?.verifiedAt], ["Unknown", undefined]);
  assert.deepEqual(verdict.problems.additional, []);
});

const awaited: readonly (readonly [
  what: string,
  finds: Partial<Finds>,
  byUser: Readonly<Record<string, Answers>>,
  source: string,
])[] = [
  ["its login", { additional: newer }, {}, "additional"],
  ["its pull", { additional: newer }, { "new login": accepts }, "additional"],
  [
    "a credential that another source overrides",
    { additional: old, extras: { team: secret(text({ "a.io": "bad:1" })) } },
    { old: accepts },
    "team",
  ],
];
for (const [what, finds, byUser, source] of awaited)
  test(`withholds a source with a new credential until there is an answer about ${what}`, () => {
    const { document, withheld } = run({ ...finds, ...before }, byUser, { images });
    assert.deepEqual([document, withheld], [text({ "a.io": "old:1" }), { [source]: [] }]);
  });

const published: readonly (readonly [
  why: string,
  finds: Partial<Finds>,
  byUser: Readonly<Record<string, Answers>>,
  changes?: Partial<VerificationPolicy>,
])[] = [
  ["an accepted credential", { additional: newer, ...before }, { new: accepts }],
  [
    "a credential that logs in and pulls an image",
    { additional: newer, ...before },
    { new: accepts },
    { images },
  ],
  ["a credential without an answer", { additional: newer, ...before }, { new: silent }],
  [
    "a denied credential with mode Warn",
    { additional: newer, ...before },
    { new: denies },
    { mode: "Warn" },
  ],
  [
    "a credential that waits for an answer with mode Warn",
    { additional: newer },
    {},
    { mode: "Warn" },
  ],
  ["a credential with mode Off", { additional: newer }, { new: denies }, { mode: "Off" }],
];
for (const [why, finds, byUser, changes] of published)
  test(`publishes ${why}`, () => {
    const { document, withheld } = run(finds, byUser, changes);
    assert.deepEqual([document, withheld], [text({ "a.io": "new:1" }), {}]);
  });

test("keeps a credential that is denied later, and a change beside it, and reports it", () => {
  const both = secret(text({ "a.io": "old:1", "b.io": "b:1" }));
  const finds = { additional: both, ...before };
  const { document, verdict, withheld } = run(finds, { old: denies, b: accepts });
  assert.deepEqual([document, withheld], [text({ "a.io": "old:1", "b.io": "b:1" }), {}]);
  assert.deepEqual(
    verdict.denials.map(({ code, path }) => [code, path]),
    [["GPS341", 'auths["a.io"]']],
  );
  assert.deepEqual(
    verdict.registries.map(({ verified: answer }) => answer),
    ["Denied", "Accepted"],
  );
  assert.equal(verdict.registries[0]?.verifiedAt, "2026-01-01T00:00:00.000Z");
});

for (const [what, answer] of [
  ["has no answer yet", undefined],
  ["is unknown to its registry", silent],
  ["is accepted", accepts],
  ["is denied", denies],
] as const)
  test(`publishes a change beside a credential that was published before and ${what}`, () => {
    // The additional Secret overrides the first entry of this source.
    const extras = { team: secret(text({ "a.io": "team:1", "t.io": "team:1" })) };
    const published = acceptedFrom({ additional: old, extras });
    const additional = secret(text({ "a.io": "old:1", "b.io": "b:1" }));
    const byUser = { b: accepts, ...(answer && { old: answer, team: answer }) };
    for (const pulled of [[], images]) {
      const finds = { additional, extras, ...published };
      const { document, withheld } = run(finds, byUser, { images: pulled });
      const expected = text({ "a.io": "old:1", "b.io": "b:1", "t.io": "team:1" });
      assert.deepEqual([document, withheld], [expected, {}]);
    }
  });

test("removes an entry although the rest of the source is denied", () => {
  const both = acceptedFrom({ additional: secret(text({ "a.io": "old:1", "b.io": "b:1" })) });
  const { document } = run({ additional: old, ...both }, { old: denies });
  assert.equal(document, text({ "a.io": "old:1" }));
});

test("refuses a new credential that may log in, but not pull one of the images", () => {
  const { verdict, withheld } = run({ additional: newer, ...before }, { new: denies }, { images });
  assert.deepEqual(withheld, { additional: ["GPS342"] });
  assert.match(verdict.problems.additional[0]?.what ?? "", /the pull of a\.io\/team\/app:1/);
});

test("withholds only the source whose credential is denied", () => {
  const extras = { team: secret(text({ "t.io": "bad:1" })) };
  const { document, states, applies } = run(
    { additional: newer, extras, ...before },
    { new: accepts, bad: denies },
  );
  assert.equal(document, text({ "a.io": "new:1" }));
  assert.deepEqual([states, applies], [{ [name]: "Accepted", team: "Rejected" }, true]);
});

test("withholds each source that brings the same denied credential", () => {
  const bad = secret(text({ "a.io": "bad:1" }));
  const { withheld } = run({ additional: bad, extras: { team: bad }, ...before }, { bad: denies });
  assert.deepEqual(withheld, { team: ["GPS341"], additional: ["GPS341"] });
});

test("withholds a denied credential that another source overrides, unless it was accepted before", () => {
  const extras = { team: secret(text({ "a.io": "bad:1" })) };
  const finds = { additional: old, extras, ...before };
  const { document, withheld, verdict } = run(finds, { old: accepts, bad: denies });
  assert.equal(document, text({ "a.io": "old:1" }));
  assert.deepEqual([withheld, verdict.denials], [{ team: ["GPS341"] }, []]);
  const both = acceptedFrom({ additional: old, extras });
  const later = run({ additional: old, extras, ...both }, { old: accepts, bad: denies });
  assert.deepEqual([later.withheld, later.asked], [{}, ["a.io", "a.io"]]);
});

test("names the denial in a source that also waits for an answer", () => {
  const additional = secret(text({ "a.io": "new:1", "b.io": "b:1" }));
  const { withheld, states } = run({ additional, ...before }, { new: denies });
  assert.deepEqual([withheld, states], [{ additional: ["GPS341"] }, { [name]: "Rejected" }]);
});

test("asks whether a new credential pulls the images of a denied credential that overrode it", () => {
  const extras = { team: secret(text({ "a.io": "team:1" })) };
  const finds = { additional: newer, extras };
  const answers = { new: denies, "team login": accepts };
  assert.deepEqual(run(finds, answers).withheld, { additional: ["GPS341"] });
  const { withheld } = run(finds, answers, { images });
  assert.deepEqual(withheld, { additional: ["GPS342"], team: [] });
});

test("with mode Warn, asks and reports nothing about a credential that another source overrides", () => {
  const extras = { team: secret(text({ "a.io": "bad:1" })) };
  const answers = { old: accepts, bad: denies };
  const { asked, verdict } = run({ additional: old, extras }, answers, { mode: "Warn" });
  assert.deepEqual([asked, verdict.denials], [["a.io"], []]);
});

test("shows the answer about a registry whose name is shown without a token", () => {
  const additional = secret(text({ [`a.io/ghp_${"x".repeat(36)}`]: "new:1" }));
  const { verdict } = run({ additional }, { new: accepts });
  const [registry] = verdict.registries;
  assert.doesNotMatch(registry?.registry ?? "", /x{36}/);
  assert.equal(registry?.verified, "Accepted");
});

test("lets the original rotate beside a denied source", () => {
  const originals = ["orig:1", "orig:2"].map((pair) => secret(text({ "o.io": pair })));
  const [first, second] = originals;
  assert.ok(first !== undefined && second !== undefined);
  const earlier = acceptedFrom({ additional: old, original: first, originalName });
  const finds = { additional: newer, original: second, originalName, ...earlier };
  const { document } = run(finds, { new: denies, orig: accepts });
  assert.equal(document, text({ "a.io": "old:1", "o.io": "orig:2" }));
});

test("counts an extra source that was only denied as one that supplies nothing", () => {
  const extras = { team: secret(text({ "t.io": "bad:1" })) };
  assert.equal(run({ extras }, { bad: denies }).applies, false);
  assert.equal(run({ extras }, {}).applies, true);
});

test("asks no registry with mode Off, or when no source applies", () => {
  assert.deepEqual(run({ additional: newer }, {}, { mode: "Off" }).asked, []);
  const original = secret(text({ "o.io": "orig:1" }));
  assert.deepEqual(run({ original, originalName }, {}).asked, []);
  const { verdict } = run({ additional: newer }, {}, { mode: "Off" });
  assert.deepEqual(
    verdict.registries.map(({ verified: answer }) => answer),
    [undefined],
  );
});
