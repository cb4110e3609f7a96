import assert from "node:assert/strict";
import test from "node:test";
import { digestOf } from "./digest.ts";

const text = (value: string): Uint8Array => Buffer.from(value);
const salt = Uint8Array.from({ length: 32 }, (_, at) => at);
const revision = {
  salt,
  intent: "apply",
  sources: text("additional"),
  document: text("{}"),
} as const;

test("gives the digest that earlier versions gave, because agents of two versions compare it", () => {
  // The bytes 0 to 31, then "\0apply\0additional\0{}", by Python's hashlib and base64.
  assert.equal(digestOf(revision), "bz2NkDq_JnLdcfM6uoOw25U71U_UyrNLFpVuIqBMtVA");
});

test("gives another digest if any part changes, or if bytes move from one part to the next", () => {
  const others = [
    { ...revision, salt: Uint8Array.from({ length: 32 }) },
    { ...revision, intent: "release" },
    { ...revision, sources: text("additional,team") },
    { ...revision, document: text("{ }") },
    { ...revision, sources: text("additional{"), document: text("}") },
    { ...revision, sources: text(""), document: text("additional{}") },
  ] as const;
  assert.equal(new Set([revision, ...others].map(digestOf)).size, others.length + 1);
});
