import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { encrypt, labelOf, type Scope } from "./sealed-secret.ts";
import { open } from "./seal.fixture.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });

const labels: readonly (readonly [scope: Scope, label: string])[] = [
  ["strict", "kube-system/regcred"],
  ["namespace-wide", "kube-system"],
  ["cluster-wide", ""],
];
for (const [scope, label] of labels)
  test(`M8: opens a value of scope ${scope} under the label "${label}", and under no other label`, () => {
    assert.equal(labelOf({ namespace: "kube-system", name: "regcred", scope }), label);
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
