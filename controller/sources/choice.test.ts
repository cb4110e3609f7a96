/**
 * Several sources: which are used, how they are reported, and that no extra source blocks another
 * source.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { capacity } from "#pullsecret/merge/capacity.ts";
import { accept } from "./accept.ts";
import {
  additional,
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
import type { ExtraInput } from "./input.ts";
import { noState } from "../objects/state.fixture.ts";

const secretWith = (registry: string, pair: string) => secret(text({ [registry]: pair }));
const base = { additional, original, originalName };
const alone = accept(sources(base), policy).target;

/** The state of an extra source that was never valid, and its verdict. */
const refusals: readonly (readonly [
  found: ExtraInput["lookup"],
  accepted: string,
  reason: string,
  message: RegExp,
])[] = [
  [bad, "False", "Rejected", /^GPS115 team-a: auths\["quay\.io"\]\.auth: .*\(none of its entries/],
  [secret(text({}), "Opaque"), "False", "Rejected", /^GPS301 team-a: type: /],
  [secret("%%%", "Opaque"), "False", "Rejected", /^GPS301 team-a: type: /],
  [secret(undefined), "False", "Rejected", /^GPS302 team-a: data/],
  [
    "absent",
    "False",
    "Missing",
    /^GPS310 team-a: kube-system\/team-a-pull: the Secret does not exist, or has no entries; /,
  ],
  ["forbidden", "Unknown", "Forbidden", /^GPS311 team-a: .*grant it: kubectl create role /],
  ["unknown", "Unknown", "Unreadable", /^GPS312 team-a: kube-system\/team-a-pull: cannot be read/],
  [
    "reserved",
    "False",
    "Rejected",
    /^GPS313 team-a: secretRef\.name: team-a-pull cannot be the Secret/,
  ],
];
for (const [lookup, accepted, reason, message] of refusals) {
  const sentence = typeof lookup === "string" ? lookup : String(lookup.type);
  test(`an extra source that is ${reason} (${sentence}) blocks no other source`, () => {
    const verdict = accept(sources({ ...base, extras: { "team-a": lookup } }), policy);
    assert.deepEqual(verdict.target, alone);
    assert.deepEqual(verdict.problems, { additional: [], original: [] });
    const reported = verdict.sources.find(({ name }) => name === "team-a");
    assert.deepEqual([reported?.accepted, reported?.reason], [accepted, reason]);
    assert.match(reported?.message ?? "", message);
  });
}

test("shows a command that grants the right to read only the source's Secret", () => {
  const extras = { "team-a": "forbidden" } as const;
  const reported = accept(sources({ ...base, extras }), policy).sources.map(
    ({ message }) => message,
  );
  const role = "global-pull-secret-source-team-a-pull";
  assert.ok(
    reported
      .join()
      .includes(
        `kubectl create role ${role} -n kube-system --verb=get,list,watch --resource=secrets --resource-name=team-a-pull` +
          ` && kubectl create rolebinding ${role} -n kube-system --role=${role}` +
          " --serviceaccount=kube-system:global-pull-secret-controller",
      ),
  );
});

for (const lookup of [bad, "forbidden", "unknown", "kept"] as const) {
  test(`an extra that is ${typeof lookup === "string" ? lookup : "refused"} keeps its last accepted entries`, () => {
    const extras = { "team-a": secretWith("t.example", "team:1") };
    const before = remembered(accept(sources({ ...base, extras }), policy));
    const verdict = accept(sources({ ...base, extras: { "team-a": lookup }, ...before }), policy);
    assert.equal(verdict.target?.document, before.published.document);
    assert.equal(verdict.accepted["team-a"], text({ "t.example": "team:1" }));
  });
}

test("does not delay an extra source because of a broken additional Secret that was never valid", () => {
  const extras = { "team-a": secretWith("t.example", "team:1") };
  const { target, problems } = accept(sources({ additional: bad, extras }), policy);
  assert.equal(target?.document, text({ "t.example": "team:1" }));
  assert.equal(target.intent, "apply");
  assert.equal(problems.additional.length, 1);
});

test("does not delay an extra source if the additional Secret was never in force and has a protected registry", () => {
  const strict = { conflicts: "additional", protect: ["quay.io"] } as const;
  const extras = { "team-a": secretWith("t.example", "team:1") };
  const { target, problems } = accept(sources({ additional, extras }), strict);
  assert.equal(target?.document, text({ "t.example": "team:1" }));
  assert.equal(problems.additional[0]?.code, "GPS127");
  assert.equal(accept(sources({ additional }), strict).target, undefined);
});

test("reports each source, its version, and the order of suppliers of a registry", () => {
  const versioned = { ...secretWith("quay.io", "team:1"), metadata: { resourceVersion: "812" } };
  const verdict = accept(sources({ ...base, extras: { "team-a": versioned } }), policy);
  assert.deepEqual(
    verdict.sources.map(({ name, secret: where, resourceVersion, accepted }) => [
      name,
      where,
      resourceVersion,
      accepted,
    ]),
    [
      ["additional-pull-secret", "kube-system/additional-pull-secret", undefined, "True"],
      ["team-a", "kube-system/team-a-pull", "812", "True"],
      ["original", originalName, undefined, "True"],
    ],
  );
  assert.deepEqual(
    verdict.registries.find(({ registry }) => registry === "quay.io"),
    { registry: "quay.io", source: "additional-pull-secret", shadows: ["team-a", "original"] },
  );
});

test("leaves out only the extra source that has a protected registry, and reports this source", () => {
  const strict = { conflicts: "additional", protect: ["t.example"] } as const;
  const extras = {
    "team-a": secretWith("t.example/x", "a:1"),
    "team-b": secretWith("b.example", "b:1"),
  };
  const verdict = accept(sources({ ...base, extras }), strict);
  assert.match(verdict.target?.sources ?? "", /"b\.example":"team-b"/);
  assert.doesNotMatch(verdict.target?.sources ?? "", /t\.example/);
  const [, teamA, teamB] = verdict.sources;
  assert.deepEqual([teamA?.reason, teamB?.reason], ["LeftOut", "Accepted"]);
  assert.match(teamA?.message ?? "", /^GPS127 team-a: /);
});

test("when the sources are too large together, leaves out only the extra sources with the lowest priority", () => {
  const padded = (registry: string, bytes: number) =>
    secret(text({ [registry]: "u:p" }) + " ".repeat(bytes));
  const extras = {
    high: padded("h.example", capacity * 0.6),
    middle: padded("m.example", capacity * 0.6),
    low: padded("l.example", capacity * 0.2),
  };
  const verdict = accept(sources({ ...base, extras }), policy);
  assert.deepEqual(
    verdict.sources.map(({ reason }) => reason),
    ["Accepted", "Accepted", "LeftOut", "Accepted", "Accepted"],
  );
  assert.match(verdict.sources[2]?.message ?? "", /^GPS308 /);
  assert.equal("middle" in verdict.accepted, false);
});

test("treats a source like any other source even if its name is a property of every JavaScript object", () => {
  const name = "constructor";
  for (const lookup of [bad, "absent", secretWith("c.example", "c:1")] as const) {
    const verdict = accept(sources({ ...base, extras: { [name]: lookup } }), policy);
    assert.equal(verdict.sources[1]?.name, name);
  }
});

const documents = fc
  .dictionary(
    fc.constantFrom("quay.io", "t.example", "quay.io/team", "a.example"),
    fc.constantFrom("u:A", "u:B", "u:C"),
    { maxKeys: 3 },
  )
  .map((entries) => secret(text(entries)));
const refusable = fc.oneof(documents, fc.constantFrom(bad, "forbidden" as const));
const protects = fc.constantFrom([], ["quay.io"], ["t.example", "a.example"]);
const finds = fc.oneof(
  documents,
  fc.constantFrom<ExtraInput["lookup"][]>(bad, "forbidden", "unknown", "absent", "reserved"),
);

test("law: judges the additional Secret and the original in the same way with and without extra sources", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("a", "b", "c"), finds),
      fc.constantFrom(additional, bad, undefined),
      fc.constantFrom(original, bad, "absent" as const, "unknown" as const),
      protects,
      (extras, first, last, guarded) => {
        const coreFinds: Partial<Finds> = { additional: first, original: last, originalName };
        const rule = { ...policy, protect: guarded };
        const [without, with_] = [{}, extras].map((some) =>
          accept(sources({ ...coreFinds, extras: some }), rule),
        );
        if (without?.target === undefined || without.target.intent === "release") return;
        assert.deepEqual(with_?.problems, without.problems);
        for (const id of ["additional", "original"])
          assert.equal(with_.accepted[id], without.accepted[id]);
      },
    ),
  );
});

test("law: reports that a refused source stays in force exactly if it has an accepted document", () => {
  const found = fc.record({
    additional: fc.constantFrom(additional, bad),
    extras: fc.record({ a: refusable, b: refusable }),
    original: fc.constantFrom(original, bad),
    originalName: fc.constant(originalName),
  });
  fc.assert(
    fc.property(found, found, protects, (first, second, protect) => {
      const earlier = accept(sources(first), policy);
      const before = earlier.target === undefined ? {} : remembered(earlier);
      const verdict = accept(sources({ ...second, ...before }), { ...policy, protect });
      for (const { name, problems, message } of verdict.sources)
        if (problems.length > 0)
          assert.equal(
            message.endsWith("(its last accepted entries stay in force)"),
            Object.hasOwn(
              verdict.accepted,
              name === "additional-pull-secret" ? "additional" : name,
            ),
            `${name}: ${message}`,
          );
    }),
  );
});

test("law: keeps the last accepted document of an extra source in force while the policy names the source", () => {
  const unread = fc.constantFrom<ExtraInput["lookup"][]>(bad, "forbidden", "unknown", "kept");
  const history = fc.array(
    fc.oneof(
      fc.constantFrom("u:A", "u:B").map((pair) => secretWith("t.example", pair)),
      unread,
    ),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(history, (rounds) => {
      let before: Pick<Finds, "published" | "state"> = { published: undefined, state: noState };
      let last: string | undefined;
      for (const lookup of rounds) {
        const sourceSet = sources({ ...base, extras: { "team-a": lookup }, ...before });
        const verdict = accept(sourceSet, policy);
        if (verdict.sources[1]?.reason === "Accepted") last = verdict.accepted["team-a"];
        assert.equal(verdict.accepted["team-a"], last);
        before = remembered(verdict);
      }
    }),
  );
});
