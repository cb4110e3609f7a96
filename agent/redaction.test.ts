/**
 * No reason of the agent contains a secret, wherever the secret is in a document, including keys.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import fc from "fast-check";
import { SystemdError, NoAnswer } from "./systemd/connection.ts";
import { readDocument } from "./delivery/config-json/document.ts";
import { describe } from "./files/errno.ts";
import { rivalsIn } from "./delivery/config-json/rivals.ts";
import { interpret } from "./delivery/mount.ts";
import { readConfigFile } from "./delivery/config-json/config-json.ts";
import { FileError } from "./files/atomic-write.ts";
import { contentWith, entry } from "./facts/facts.fixture.ts";
import { failureStep } from "./report/status.ts";
import { planted as everyPlace, tokens } from "#pullsecret/tokens.fixture.ts";

const planted = "pl4nted-S3CRET-t0ken";

/**
 * Secrets as they get into a key: pasted with user and host, alone after a user, in a query,
 * percent-encoded.
 */
const keys = [
  `https://robot:${planted}@registry.corp`,
  `https://robot:${planted}@registry.corp:5000/team/`,
  `robot:${planted}`,
  `registry.corp?token=${planted}`,
  `https://robot:${planted}%40registry.corp`,
  `robot:${planted}@`,
  `robot:${planted}\u0000\n@a.io`,
];
const key = fc.constantFrom(...keys);
const bad = fc.constantFrom(
  `"${planted}"`,
  `{"auth":"${planted}"}`,
  `{"auth":{"${planted}@":1}}`,
  `{"password":["${planted}"]}`,
  `{"x":1e999,"y":"\\ud800"}`,
  `{"__proto__":{}}`,
  `{"a":1,"a":2}`,
  `[{"b":{"b":1,"b":2}}]`,
  `{"Auth":"${planted}"}`,
  `{"auth":`,
  "null",
);

/** Documents with a secret in a key, in a value, or in both, each with one mistake. */
const document = fc
  .tuple(
    key,
    bad,
    key,
    bad,
    fc.constantFrom("auths", "AUTHS", "HttpHeaders", "credHelpers", ...keys),
  )
  .map(([key, wrong, other, alsoWrong, top]) => {
    const member = (name: string, value: string) => `${JSON.stringify(name)}:${value}`;
    return `{${member("auths", `{${member(key, wrong)},${member(other, alsoWrong)}}`)},${member(
      top,
      `{${member(other, wrong)}}`,
    )}}`;
  });

/** Fails if the reason contains five consecutive characters of the secret. */
function assertHidden(reason: string | undefined): void {
  for (let at = 0; at + 5 <= planted.length; at++)
    assert.ok(
      !reason?.includes(planted.slice(at, at + 5)),
      "a part of a planted secret is in a reason",
    );
}

test("reveals no secret of a key or value of config.json in a reason", () => {
  let told = 0;
  fc.assert(
    fc.property(document, (text) => {
      const reading = readDocument(Buffer.from(text));
      const reason = reading.kind === "document" ? undefined : reading.why;
      assertHidden(reason);
      told += Number(reason !== undefined);
    }),
    { numRuns: 2000 },
  );
  assert.ok(told > 100, `${told} reasons`);
});

test("F61: reveals no token in a reason, wherever config.json or a mounted document contains it", () => {
  let told = 0;
  for (const token of tokens) {
    const { documents, secrets } = everyPlace(token);
    for (const text of documents) {
      const reading = readDocument(Buffer.from(text));
      const content = contentWith(1, entry("z.io", "p"));
      const mounted = interpret({
        revision: Buffer.from("1"),
        salt: Buffer.from("s".repeat(32)),
        intent: Buffer.from("apply"),
        document: Buffer.from(text),
        sources: Buffer.from("{}"),
      });
      const reasons = [
        reading.kind === "document" ? undefined : reading.why,
        reading.kind === "document" ? rivalsIn(reading.document, content) : undefined,
        mounted.kind === "refused" ? mounted.why : undefined,
      ].filter((reason) => reason !== undefined);
      told += reasons.length;
      for (const secret of secrets)
        for (const reason of reasons) assert.ok(!reason.includes(secret), reason);
    }
  }
  assert.ok(told > 100, `${told} reasons`);
});

test("refuses a config.json without revealing a secret in its keys", () => {
  const directory = mkdtempSync(join(tmpdir(), "gps-redaction-"));
  const file = join(directory, "config.json");
  for (const key of keys) {
    const name = JSON.stringify(key);
    writeFileSync(file, `{"auths":{${name}:{},${name}:{}}}`);
    const reading = readConfigFile(file);
    assert.equal(reading.kind, "refused");
    assertHidden(reading.kind === "refused" ? reading.why : "");
  }
  rmSync(directory, { recursive: true });
});

test("refuses a mounted Secret without revealing a secret in its keys", () => {
  let refused = 0;
  fc.assert(
    fc.property(document, document, fc.boolean(), (text, other, inSources) => {
      const mounted = interpret({
        revision: Buffer.from("1"),
        salt: Buffer.from("s".repeat(32)),
        intent: Buffer.from("apply"),
        document: Buffer.from(inSources ? "{}" : text),
        sources: Buffer.from(inSources ? other : "{}"),
      });
      if (mounted.kind !== "refused") return;
      refused += 1;
      assertHidden(mounted.why);
    }),
    { numRuns: 1000 },
  );
  assert.ok(refused > 300, `${refused} refusals`);
});

test("reports our own messages and those of the operating system in full", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED /host/systemd/private"), {
    syscall: "connect",
  });
  const errors: readonly (readonly [Error, string])[] = [
    [new NoAnswer("no answer within 10 s"), "no answer within 10 s"],
    [
      new SystemdError("org.freedesktop.DBus.Error.AccessDenied", "no"),
      "org.freedesktop.DBus.Error.AccessDenied: no",
    ],
    [new FileError("short write: 0 of 100 bytes"), "short write: 0 of 100 bytes"],
    [refused, refused.message],
  ];
  for (const [error, said] of errors)
    assert.deepEqual([describe(error), failureStep(error).detail], [said, said]);
});

test("reports an unforeseen error by class and place, because its message might quote a value", () => {
  const errors: (() => unknown)[] = [
    () => JSON.parse(planted),
    () => JSON.parse(`{"a":"${planted}"`),
    () => (undefined as unknown as Record<string, string>)[planted]?.at(0),
    () => BigInt(planted),
  ];
  for (const fail of errors) {
    let step;
    try {
      fail();
    } catch (error) {
      step = failureStep(error);
    }
    assert.equal(step?.code, "GPS228");
    assertHidden(step?.detail);
    assert.match(step?.detail ?? "", /^\w+Error at [\w.]+:\d+:\d+$/);
  }
});
