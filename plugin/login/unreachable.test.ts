import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonOf } from "./login.ts";

const cases: readonly (readonly [code: string, why: RegExp])[] = [
  ["ENOTFOUND", /^DNS has no such name \(ENOTFOUND\)$/],
  ["EAI_AGAIN", /^DNS does not answer/],
  ["ECONNREFUSED", /^refuses the connection/],
  ["UND_ERR_CONNECT_TIMEOUT", /^no answer in time/],
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
for (const [code, why] of cases)
  test(`gives a reason for ${code || "an error without a code"} without the error's own message`, () => {
    const cause = Object.assign(new Error("s3cret"), { code });
    const reason = reasonOf(new TypeError("fetch failed: s3cret", { cause }));
    assert.match(reason.message, why);
    assert.equal(reason.withoutTls, /does not speak TLS/.test(reason.message));
  });
