import assert from "node:assert/strict";
import { test } from "node:test";
import { problem } from "#pullsecret/problems/problems.ts";
import { additionalInput, extraInput, type ExtraInput } from "./input.ts";
import { messageOf, nameOf, registriesOf, type SourceVerdict, verdictOf } from "./verdict.ts";
import { Credential } from "#pullsecret/document/auth.ts";

test("names the additional Secret by its name, and every other source by its id", () => {
  assert.deepEqual(["additional", "original", "constructor"].map(nameOf), [
    "additional-pull-secret",
    "original",
    "constructor",
  ]);
});

test("names a registry's supplier and its shadowed sources as the sources' verdicts do", () => {
  const credential = new Credential("u", "p");
  const entry = { registry: "a.io", credential, from: "team-a" };
  assert.deepEqual(registriesOf([{ ...entry, shadows: ["additional", "original"] }]), [
    { registry: "a.io", source: "team-a", shadows: ["additional-pull-secret", "original"] },
  ]);
});

test("reports when a registry's credential expires, if that is known", () => {
  const payload = Buffer.from(JSON.stringify({ exp: 1_900_000_000 })).toString("base64url");
  const credential = new Credential("u", `eyJhbGciOiJub25lIn0.${payload}.x`);
  const registries = registriesOf([{ registry: "a.io", credential, from: "team-a", shadows: [] }]);
  assert.deepEqual(registries[0]?.expires, "2030-03-17T17:46:40.000Z");
  assert.doesNotMatch(JSON.stringify(registries), /eyJ/);
});

test("hides a secret inside an original's key, and merges two keys that differ only in the secret", () => {
  const credential = new Credential("u", "p");
  const entry = { credential, from: "original", shadows: [] };
  const registries = registriesOf([
    { ...entry, registry: "https://robot:T0KEN@a.io" },
    { ...entry, registry: "https://robot:0THER@a.io" },
    { ...entry, registry: "a.io:T0KEN" },
  ]);
  assert.equal(registries.length, 2);
  assert.doesNotMatch(JSON.stringify(registries), /T0KEN|0THER|robot/);
});

const lookups: readonly (readonly [lookup: ExtraInput["lookup"], reason: string])[] = [
  [{}, "LeftOut"],
  ["kept", "Kept"],
  ["absent", "Missing"],
  ["forbidden", "Forbidden"],
  ["unknown", "Unreadable"],
];
for (const [lookup, reason] of lookups)
  test(`reports a source that does not fit as ${reason} if its Secret is ${typeof lookup === "object" ? "there" : lookup}`, () => {
    const [verdict] = verdictOf(extraInput("team-a", "a/b", lookup), [], true, true);
    assert.equal(verdict?.reason, reason);
  });

test("gives an absent source that nobody declared no verdict", () => {
  assert.deepEqual(verdictOf(additionalInput("absent"), [], false, false), []);
});

/** How many problems, whether anything is in force, and how the message begins and ends. */
const messages: readonly (readonly [count: number, inForce: boolean, expected: RegExp])[] = [
  [0, true, /^in order$/],
  [
    1,
    true,
    /^GPS115 team-a: auths.*standard alphabet.* \(its last accepted entries stay in force\)$/,
  ],
  [1, false, /^GPS115 .* \(none of its entries are in force\)$/],
  [5, true, /^(GPS115 [^|]* \| ){3}and 2 more \(its last/],
];
for (const [count, inForce, expected] of messages) {
  test(`shows ${count} problems of a source ${inForce ? "with" : "without"} entries in force`, () => {
    const sourceProblem = problem("notBase64", "team-a", 'auths["a.io"].auth');
    const problems: SourceVerdict["problems"] = Array.from({ length: count }, () => sourceProblem);
    assert.match(messageOf(problems, inForce), expected);
  });
}
