import assert from "node:assert/strict";
import { test } from "node:test";
import { OwnError } from "../files/errno.ts";
import { Refusal } from "./connection.ts";
import { type ApiTrouble, openStreaks } from "./trouble.ts";

function setUp() {
  const clock = { now: 0 };
  const troubles: ApiTrouble[] = [];
  const streakOf = openStreaks(
    (trouble) => troubles.push(trouble),
    () => clock.now,
  );
  return { clock, troubles, streak: streakOf("the Secret"), other: streakOf("the report") };
}

const systemError = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:443"), {
  code: "ECONNREFUSED",
  syscall: "connect",
});
const tlsError = Object.assign(new Error("altnames: hunter2"), { code: "ERR_TLS_CERT_ALTNAME" });

const rows: readonly (readonly [reason: unknown, trouble: ApiTrouble])[] = [
  [new Refusal(401), { kind: "apiUnauthorized", detail: "the Secret: status 401" }],
  [new Refusal(403), { kind: "apiForbidden", detail: "the Secret: status 403" }],
  [new Refusal(503), { kind: "apiSilent", detail: "the Secret: status 503" }],
  [new OwnError("silence"), { kind: "apiSilent", detail: "the Secret: silence" }],
  [systemError, { kind: "apiSilent", detail: `the Secret: ${systemError.message}` }],
  [tlsError, { kind: "apiSilent", detail: "the Secret: ERR_TLS_CERT_ALTNAME" }],
  ["objectless", { kind: "objectless", detail: "the Secret: it does not exist" }],
];

test("reports a trouble once, after it has lasted for 30 s", () => {
  for (const [reason, trouble] of rows) {
    const { clock, troubles, streak } = setUp();
    for (clock.now = 0; clock.now < 30_000; clock.now += 1000) streak.failed(reason);
    assert.deepEqual(troubles, []);
    for (clock.now = 30_000; clock.now < 90_000; clock.now += 1000) streak.failed(reason);
    assert.deepEqual(troubles, [trouble]);
  }
});

test("does not report troubles that end before, however many there are", () => {
  const { clock, troubles, streak } = setUp();
  for (clock.now = 0; clock.now < 300_000; clock.now += 10_000) {
    streak.failed(new Refusal(clock.now % 20_000 === 0 ? 403 : 503));
    if (clock.now % 40_000 === 0) streak.ended();
  }
  assert.deepEqual(troubles, []);
});

test("reports a kind once for all requests, and again after it has ended", () => {
  const { clock, troubles, streak, other } = setUp();
  const fail = () => {
    for (const each of [streak, other]) each.failed(systemError);
  };
  fail();
  clock.now = 30_000;
  fail();
  assert.equal(troubles.length, 1);
  other.ended();
  clock.now = 90_000;
  fail();
  assert.equal(troubles.length, 1);
  streak.ended();
  clock.now = 130_000;
  fail();
  assert.deepEqual(
    troubles.map(({ detail }) => detail.split(":")[0]),
    ["the Secret", "the report"],
  );
});

test("reports another kind that follows", () => {
  const { clock, troubles, streak } = setUp();
  for (const reason of [systemError, new Refusal(403)])
    for (const second of [0, 40]) {
      clock.now += second * 1000;
      streak.failed(reason);
    }
  assert.deepEqual(
    troubles.map(({ kind }) => kind),
    ["apiSilent", "apiForbidden"],
  );
});
