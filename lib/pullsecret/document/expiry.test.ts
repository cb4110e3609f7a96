import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Credential } from "./auth.ts";
import { expiryOf } from "./expiry.ts";

const end = 1_795_000_000;
const json = (value: unknown, as: BufferEncoding = "base64") =>
  Buffer.from(JSON.stringify(value)).toString(as);
const jwt = (claims: unknown) =>
  `${json({ alg: "RS256" }, "base64url")}.${json(claims, "base64url")}.c2ln`;

for (const [what, password, expectedExpiry] of [
  ["a JWT with exp", jwt({ exp: end }), end],
  ["a JWT with a line break after it", `${jwt({ exp: end })}\n`, end],
  ["a JWT without exp", jwt({ sub: "robot" }), undefined],
  ["a JWT whose exp is not a time", jwt({ exp: "soon" }), undefined],
  ["a token of ECR", json({ payload: "x", type: "DATA_KEY", expiration: end }), end],
  ["base64 of another object", json({ exp: end }), undefined],
  ["base64 of a text that is not an object", btoa("[1795000000]"), undefined],
  ["base64 of half an object", btoa("{"), undefined],
  ["a password", "s3cret", undefined],
  ["nothing", "", undefined],
] as const)
  test(`reads ${expectedExpiry === undefined ? "no expiry" : "the expiry"} of ${what}`, () => {
    const time = expectedExpiry === undefined ? undefined : new Date(expectedExpiry * 1000);
    assert.deepEqual(expiryOf(new Credential("u", password)), time);
  });

test("accepts any password, and never throws", () => {
  fc.assert(
    fc.property(fc.string(), (password) => {
      expiryOf(new Credential("u", password));
      expiryOf(new Credential("u", `eyJhIjoxfQ.${password}.x`));
      expiryOf(new Credential("u", btoa(`{${encodeURI(password.toWellFormed())}`)));
    }),
  );
});
