import assert from "node:assert/strict";
import { test } from "node:test";
import { unreachable } from "./api-error.ts";

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
