import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonOf, send } from "./send.ts";

const reasons: readonly (readonly [code: string, why: RegExp])[] = [
  ["ENOTFOUND", /^DNS has no such name \(ENOTFOUND\)$/],
  ["EAI_AGAIN", /^DNS does not answer/],
  ["ECONNREFUSED", /^refuses the connection/],
  ["ETIMEDOUT", /^no answer in time/],
  ["ERR_IP_BLOCKED", /^has a link-local address/],
  ["CERT_HAS_EXPIRED", /^TLS: its certificate is not trusted here \(CERT_HAS_EXPIRED\)$/],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", /^TLS: its certificate/],
  ["SELF_SIGNED_CERT_IN_CHAIN", /^TLS: its certificate/],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /^TLS: its certificate/],
  ["ERR_TLS_CERT_ALTNAME_INVALID", /^TLS: its certificate/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /^does not speak TLS/],
  ["EPROTO", /^does not speak TLS/],
  ["HPE_INVALID_CONSTANT", /^does not answer in HTTP \(HPE_INVALID_CONSTANT\)$/],
  ["", /^does not answer in HTTP \(unknown error\)$/],
];
for (const [code, why] of reasons)
  test(`gives a reason for ${code || "an error without a code"} without the error's own message`, () => {
    const reason = reasonOf(Object.assign(new Error("s3cret"), { code }));
    assert.match(reason.message, why);
    assert.equal(reason.withoutTls, /does not speak TLS/.test(reason.message));
  });

test("sends nothing over plain HTTP to a link-local address, in any notation", async () => {
  for (const host of ["169.254.169.254", "[::ffff:a9fe:a9fe]", "[fe80::1]"]) {
    const url = new URL(`http://${host}/v2/`);
    const limit = { signal: AbortSignal.timeout(5000), milliseconds: 5000 };
    const sent = send({ method: "GET", url, limit });
    await assert.rejects(sent, /has a link-local address/);
  }
});
