import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { nodesBindingPath, nodesPolicyPath } from "#kube/client/paths.ts";
import { Guard } from "./guard.ts";

const policy = { spec: { failurePolicy: "Fail", validations: [{ expression: "true" }] } };
const policyName = "global-pull-secret-nodes";
const binding = { spec: { policyName, validationActions: ["Deny"] } };

/** A cluster with these objects. `reads`: how often the controller read the binding. */
function clusterWith(objects: Record<string, object>) {
  let reads = 0;
  let failure: number | undefined;
  const get = async (path: string): Promise<unknown> => {
    if (path === nodesBindingPath) reads += 1;
    if (failure !== undefined)
      throw new ApiError({ status: failure, reason: "No", method: "GET", path });
    return objects[path];
  };
  return {
    cluster: { get: get as Cluster["get"] },
    objects,
    reads: () => reads,
    fail: (status: number | undefined) => (failure = status),
  };
}
const both = { [nodesPolicyPath]: policy, [nodesBindingPath]: binding };

const rows: readonly (readonly [
  what: string,
  objects: Record<string, object>,
  isGuarded: boolean,
])[] = [
  ["the policy and its binding exist", both, true],
  ["nothing exists", {}, false],
  ["the binding is missing", { [nodesPolicyPath]: policy }, false],
  [
    "the policy has no validations",
    { ...both, [nodesPolicyPath]: { spec: { failurePolicy: "Fail" } } },
    false,
  ],
  [
    "the policy is ignored when it fails",
    { ...both, [nodesPolicyPath]: { spec: { ...policy.spec, failurePolicy: "Ignore" } } },
    false,
  ],
  [
    "the binding has exceptions",
    { ...both, [nodesBindingPath]: { spec: { ...binding.spec, matchResources: {} } } },
    false,
  ],
  ["the policy is missing", { [nodesBindingPath]: binding }, false],
  [
    "the binding only warns",
    { ...both, [nodesBindingPath]: { spec: { policyName, validationActions: ["Warn", "Audit"] } } },
    false,
  ],
  [
    "the binding names another policy",
    { ...both, [nodesBindingPath]: { spec: { ...binding.spec, policyName: "other" } } },
    false,
  ],
];
for (const [what, objects, isGuarded] of rows)
  test(`reports ${isGuarded ? "a guard" : "no guard"} if ${what}`, async () => {
    const { cluster } = clusterWith(objects);
    assert.equal(await new Guard().isGuarded(cluster, 100), isGuarded);
  });

test("reads the policy once a minute while it exists, and every 5 s while it is missing", async () => {
  const { cluster, objects, reads } = clusterWith({ ...both });
  const guard = new Guard();
  for (let now = 0; now < 120; now += 1) await guard.isGuarded(cluster, now);
  assert.deepEqual([reads(), guard.again(119)], [2, Number.POSITIVE_INFINITY]);
  delete objects[nodesPolicyPath];
  for (let now = 120; now < 150; now += 1) await guard.isGuarded(cluster, now);
  assert.deepEqual([reads(), guard.again(149)], [8, 1]);
});

test("without the right to read the policy, reports no guard", async () => {
  const { cluster, fail } = clusterWith(both);
  const guard = new Guard();
  assert.equal(await guard.isGuarded(cluster, 0), true);
  fail(403);
  assert.equal(await guard.isGuarded(cluster, 60), false);
});

test("keeps the last answer while the API server gives none", async () => {
  const { cluster, fail } = clusterWith(both);
  const guard = new Guard();
  assert.equal(await guard.isGuarded(cluster, 0), true);
  for (const [status, now] of [
    [500, 60],
    [0, 120],
  ] as const) {
    fail(status);
    assert.equal(await guard.isGuarded(cluster, now), true, String(status));
  }
});

test("does not hide a fault of the controller behind the last answer", async () => {
  const { cluster } = clusterWith(both);
  const guard = new Guard();
  assert.equal(await guard.isGuarded(cluster, 0), true);
  const faulty = { get: () => Promise.reject(new TypeError("x")) };
  await assert.rejects(guard.isGuarded(faulty, 60), TypeError);
});
