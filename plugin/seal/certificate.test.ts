import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { longestCertificate, readCertificate } from "./certificate.ts";
import { broken, east, west } from "./seal.fixture.ts";

const now = new Date("2026-11-23T00:00:00Z");
const read = (text: string) => readCertificate(Buffer.from(text), "--cert east", now);

test("uses the first of several certificates", () => {
  const { fingerprint, until, publicKey } = read(`${east}${west}`);
  assert.match(fingerprint, /^[0-9a-f]{64}$/);
  assert.notEqual(fingerprint, read(west).fingerprint);
  assert.equal(new Date(until).getUTCFullYear(), 2126);
  assert.equal(publicKey.type, "public");
});

const refused: Readonly<Record<string, string>> = {
  ...broken,
  "holds no certificate": "-----BEGIN PUBLIC KEY-----\n",
  "is longer than 64 KiB": " ".repeat(longestCertificate + 1),
};
for (const [why, text] of Object.entries(refused))
  test(`refuses a certificate: ${why}`, () => {
    const line = `--cert east: ${why}; fetch the cluster's certificate again`;
    assert.throws(() => read(text), { name: "Refused", message: line });
  });

test("B12: refuses a certificate behind a byte order mark, as Go does", () => {
  const line = "--cert east: holds no certificate; fetch the cluster's certificate again";
  assert.throws(() => read(`\ufeff${east}`), { name: "Refused", message: line });
});

test("refuses a certificate that is cut off", () => {
  assert.throws(() => read(east.slice(0, 200)), { name: "Refused" });
});

test("accepts a certificate on its last day, and refuses it a moment later", () => {
  const { until } = read(east);
  const at = (milliseconds: number) =>
    readCertificate(Buffer.from(east), "--cert east", new Date(Date.parse(until) + milliseconds));
  assert.equal(at(-1).until, until);
  assert.throws(() => at(0), { name: "Refused" });
});
