import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { encrypt, labelOf } from "./sealed-secret.ts";
import { open } from "./seal.fixture.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });

test("M8: opens a value under its Secret's label, and under no other label", () => {
  const label = labelOf({ namespace: "kube-system", name: "regcred" });
  assert.equal(label, "kube-system/regcred");
  for (const text of ["", "ü", "x".repeat(500_000)]) {
    const sealed = encrypt(Buffer.from(text), publicKey, label);
    assert.equal(open(sealed, privateKey, label), text);
    assert.throws(() => open(sealed, privateKey, `${label}x`));
    assert.throws(() => open(sealed, other.privateKey, label));
  }
});

test("seals the same value to another text each time, so that files do not show equal values", () => {
  const sealed = () => encrypt(Buffer.from("same"), publicKey, "");
  assert.notEqual(sealed(), sealed());
});
