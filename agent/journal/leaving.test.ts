import assert from "node:assert/strict";
import test from "node:test";
import { before, contentWith, entry, idle, restarting } from "../facts/facts.fixture.ts";
import { type Journal, noContent } from "./journal.ts";
import { containsLeaving } from "./leaving.ts";

const nothing: Journal = { ...idle, content: noContent };
const having = (raw: string): Journal => ({
  ...idle,
  content: contentWith(7, { ...entry("a.io", "p"), raw }),
});
const plain = having(
  '{"username":"robot","email":"r@a.io","password":"s3c/ret","identitytoken":"t0ken"}',
);
const [bare, empty] = [having('{"auth":"dTo="}'), having("null")];

const rows: readonly (readonly [
  name: string,
  bytes: string,
  former: Journal,
  next: Journal,
  expected: boolean,
])[] = [
  ["the auth text", '{"auths":{"x":{"auth":"dTpvbGQ=",', before, nothing, true],
  ["an escaped auth text", String.raw`{"auth":"dTpvbGQ\u003d"`, before, nothing, true],
  ["the password", '{"password":"old"', before, nothing, true],
  ["an identity token", '{"identitytoken":"t0ken', plain, nothing, true],
  ["an auth text escaped in capitals", String.raw`{"auth":"dTpvbGQ\u003D"`, before, nothing, true],
  ["a password with an escaped slash", String.raw`{"x":"s3c\/ret`, plain, nothing, true],
  ["the auth text of a user without a password", '{"auth":"dTo="', bare, nothing, true],
  ["another text beside a user without a password", '{"x"', bare, nothing, false],
  ["null, which has no credential", '{"auths":{"a.io":null,', empty, nothing, false],
  ["only the name of the user", '{"username":"robot"', plain, nothing, false],
  ["only the mail address", '{"email":"r@a.io"', plain, nothing, false],
  ["another credential", '{"auth":"dTpvdGhlcg=="', before, nothing, false],
  ["a credential that stays", '{"auth":"dTpvbGQ="', before, before, false],
  ["a credential that a rollback would need", '{"auth":"dTpvbGQ="', before, restarting, false],
  ["a credential that no rollback needs any more", '{"auth":"dTpvbGQ="', restarting, idle, true],
];
for (const [name, bytes, former, next, expected] of rows)
  test(`${expected ? "finds" : "does not count"} in unreadable bytes: ${name}`, () => {
    assert.equal(containsLeaving(Buffer.from(bytes), former, next), expected);
  });
