import assert from "node:assert/strict";
import { test } from "node:test";
import { direct } from "./direct.ts";
import type { Seen } from "./way.ts";

const target = { namespace: "kube-system", name: "fleet-pull-secret" };
const secret = { metadata: { resourceVersion: "7" } };
const listing = {
  metadata: { generation: 1 },
  spec: { sources: [{ name: "fleet", secretRef: { name: target.name } }] },
  status: {
    observedGeneration: 1,
    sources: [{ name: "fleet", resourceVersion: "7", servedResourceVersion: "7" }],
  },
};

test("of any other target done is what is read back, and nobody else's object is read", () => {
  for (const where of [
    { ...target, name: "pull-secret" },
    { ...target, namespace: "default" },
  ]) {
    const { witness, proof } = direct(where);
    assert.equal(witness, undefined);
    assert.equal(proof([secret], undefined).is, "unasked");
  }
});

const table: readonly (readonly [what: string, seen: Seen, is: string])[] = [
  ["not asked yet", { is: "unknown" }, "awaited"],
  ["not installed there", { is: "refused", status: 404 }, "unasked"],
  ["not to be read", { is: "refused", status: 403 }, "held"],
  ["not made", { is: "shown", object: undefined }, "unasked"],
  ["on its nodes", { is: "shown", object: listing }, "proved"],
];
for (const [what, seen, is] of table)
  test(`the GlobalPullSecret is ${what}: ${is}`, () => {
    assert.equal(direct(target).proof([secret], seen).is, is);
  });
