import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath, secretsIn } from "#kube/client/paths.ts";
import { direct } from "./direct.ts";
import type { Seen } from "./transport.ts";

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

test("for every target except kube-system/fleet-pull-secret, counts a cluster as done when the Secret is read back", () => {
  for (const where of [
    { ...target, name: "pull-secret" },
    { ...target, namespace: "default" },
  ]) {
    const { placed, witness, proof } = direct(where);
    const [{ target: at } = assert.fail("nothing is placed")] = placed;
    assert.deepEqual([at.collection, at.name], [secretsIn(where.namespace), where.name]);
    assert.equal(witness, undefined);
    assert.equal(proof([secret], undefined).is, "unasked");
  }
});

test("for kube-system/fleet-pull-secret, reads the cluster's own GlobalPullSecret as the witness", () => {
  const { placed, witness } = direct(target);
  const [{ target: at } = assert.fail("nothing is placed")] = placed;
  assert.deepEqual([at.collection, at.name], [secretsIn(target.namespace), target.name]);
  const { collection, name } = witness ?? assert.fail("there is no witness");
  assert.equal(`${collection}/${name}`, globalPullSecretPath);
});

const behind = { ...listing, status: { observedGeneration: 1, sources: [] } };

const table: readonly (readonly [what: string, seen: Seen, is: string, why?: RegExp])[] = [
  ["not read yet", { is: "unknown" }, "awaited"],
  ["not installed (no CRD)", { is: "refused", status: 404, why: "404 NotFound" }, "held", /GPS454/],
  ["unreadable (403)", { is: "refused", status: 403, why: "403 Forbidden" }, "held", /GPS455.*403/],
  ["never readable", { is: "refused", status: 503, why: "503 Slow" }, "held", /GPS459.*503 Slow/],
  ["no longer readable", { is: "shown", object: behind, failing: "500 X" }, "held", /GPS459/],
  ["on its nodes at the last read", { is: "shown", object: listing, failing: "500" }, "proved"],
  ["not created", { is: "shown", object: undefined }, "held", /GPS454/],
  ["on its nodes", { is: "shown", object: listing }, "proved"],
];
for (const [what, seen, is, why = /^/] of table)
  test(`the GlobalPullSecret is ${what}: ${is}`, () => {
    const proof = direct(target).proof([secret], seen);
    assert.equal(proof.is, is);
    assert.match(("why" in proof && proof.why) || "", why);
  });
