import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { format, inspect } from "node:util";
import fc from "fast-check";
import { character } from "../arbitrary.fixture.ts";
import { Credential, decodeAuth } from "./auth.ts";

const credential = new Credential("user", "pl4nted-s3cret");

test("H24: never prints a credential by accident", () => {
  const error = new Error("x", { cause: credential });
  const printed = [
    JSON.stringify({ deep: [credential] }),
    `${String(credential)} ${credential.toString()}`,
    inspect(credential, { showHidden: true, depth: 9 }),
    format("%s %j %o %O %d", credential, credential, credential, credential, credential),
    inspect(error),
    JSON.stringify(Object.entries(credential)),
    JSON.stringify({ ...credential }),
    JSON.stringify(structuredClone(credential)),
    inspect(Credential.ofToken("user pl4nted-s3cret"), { showHidden: true, depth: 9 }),
  ];
  for (const text of printed)
    for (const secret of ["s3cret", "user", credential.encode()])
      assert.ok(!text.includes(secret), text);
});

test("treats two credentials as equal if user, password and token are equal", () => {
  assert.ok(credential.equals(new Credential("user", "pl4nted-s3cret")));
  assert.ok(
    !credential.equals(new Credential("user", "")) &&
      !credential.equals(new Credential("", "pl4nted-s3cret")),
  );
  assert.ok(!Credential.ofToken("t").equals(new Credential("", "")));
  assert.ok(Credential.ofToken("t").equals(Credential.ofToken("t")));
});

test("decodes its own encoding, with and without padding", () => {
  const text = fc.string({ unit: character });
  fc.assert(
    fc.property(
      text.filter((username) => !username.includes(":")),
      text,
      (username, password) => {
        const login = new Credential(username, password);
        const encoded = login.encode();
        assert.equal(encoded.length % 4, 0);
        for (const field of [
          encoded,
          encoded.replace(/=+$/, ""),
          `${encoded.slice(0, 3)}\r\n${encoded.slice(3)}\n`,
        ]) {
          const decoded = decodeAuth(field);
          assert.ok(typeof decoded === "object", field);
          assert.equal(decoded.encoded, encoded);
          assert.equal(decoded.username.toString(), username);
          assert.equal(decoded.password.toString(), password);
        }
      },
    ),
  );
});

test("refuses every text that Buffer decodes although Go does not accept it as base64", () => {
  const digits = fc.constantFrom("d", "T", "p", "w", "=", "-", "_", " ", "\t", "!", "\u00e9");
  // Go's rules in full: groups of four. The last group can be shorter, and is then padded
  // completely or not at all.
  const quads = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
  fc.assert(
    fc.property(fc.string({ unit: digits, maxLength: 12 }), (field) => {
      assert.equal(decodeAuth(field) === "not base64", !quads.test(field), field);
    }),
    { numRuns: 1000 },
  );
  assert.equal(decodeAuth(Buffer.from("nocolon").toString("base64")), "no colon");
});
