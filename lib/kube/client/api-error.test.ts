import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResponseContext } from "@kubernetes/client-node";
import { ApiError, unreachable } from "./api-error.ts";

const failed = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(`connect ${code}`), { code }) });

for (const [code, reason] of [
  ["ECONNREFUSED", "Unreachable"],
  ["EMFILE", "TooManyOpenFiles"],
  ["ENFILE", "TooManyOpenFiles"],
] as const)
  test(`reports ${code} as ${reason}`, () => {
    const error = unreachable("GET", "/version", failed(code));
    assert.equal(error.status, 0);
    assert.equal(error.reason, reason);
  });

test("puts the lines of a credential plugin's error into one", () => {
  const { message } = unreachable("GET", "/version", new Error("Token has expired\n  log in\n"));
  assert.equal(message, "GET /version: no answer Unreachable: Token has expired log in");
});

const secret = "/api/v1/namespaces/kube-system/secrets/global-pull-secret";
const forbidden = 'secrets "global-pull-secret" is forbidden: ';
const denied = (policy: string) =>
  `${forbidden}ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: `;

for (const [what, path, message, isQuoted] of [
  ["a refusal by our own policy", secret, `${denied("global-pull-secret-objects")}a: env`, true],
  ["a refusal by another policy", secret, `${denied("platform")}dXNlcjpw`, false],
  ["a refusal by a webhook", secret, 'admission webhook "a" denied the request: dXNlcjpw', false],
  ["a decoder's error", secret, `bad byte: ${denied("global-pull-secret-objects")}dXNlcjpw`, false],
  [
    "another policy's quote of ours",
    secret,
    `${denied("platform")}${denied("global-pull-secret-objects")}dXNlcjpw`,
    false,
  ],
  ["a refusal that concerns no Secret", "/api/v1/namespaces/a/pods/b", "any text", true],
] as const)
  test(`${isQuoted ? "quotes" : "does not quote"} ${what}`, () => {
    const context = { httpStatusCode: 403, headers: {} } as ResponseContext;
    const body = JSON.stringify({ reason: "Forbidden", message });
    const error = ApiError.from("PATCH", path, context, body);
    assert.equal(error.message, `PATCH ${path}: 403 Forbidden${isQuoted ? `: ${message}` : ""}`);
    const ofPublic = ApiError.from("PATCH", path, context, body, true);
    assert.equal(ofPublic.detail, message, "the request contained no credential");
  });

for (const [header, seconds] of [
  [undefined, undefined],
  ["soon", undefined],
  ["1", 1],
  ["60", 60],
  ["61", 60],
  ["9999", 60],
] as const)
  test(`waits ${seconds} s for a server that requests ${header} s`, () => {
    const headers = header === undefined ? {} : { "retry-after": header };
    const context = { httpStatusCode: 429, headers } as unknown as ResponseContext;
    assert.equal(ApiError.from("GET", "/a", context, "").retryAfterSeconds, seconds);
  });

for (const [status, detail, bare] of [
  [403, "dXNlcjpw", "GET /a: 403 Refused"],
  [403, undefined, "GET /a: 403 Refused"],
  [0, "the name is unknown", "GET /a: no answer Refused: the name is unknown"],
  [0, undefined, "GET /a: no answer Refused"],
] as const)
  test(`shows strangers ${bare}`, () => {
    const refusal = { status, reason: "Refused", method: "GET", path: "/a" };
    assert.equal(new ApiError({ ...refusal, ...(detail && { detail }) }).bare, bare);
  });
