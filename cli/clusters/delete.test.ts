/** Manifests placed in two clusters and taken away again. The clusters are in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { applyTo } from "./apply.ts";
import { deleteFrom, whyKept } from "./delete.ts";
import type { Manifest } from "./manifests.ts";

const kinds: Readonly<Record<string, readonly object[]>> = {
  "/api/v1": [
    { name: "namespaces", kind: "Namespace", namespaced: false },
    { name: "secrets", kind: "Secret", namespaced: true },
  ],
  "/apis/apps/v1": [{ name: "deployments", kind: "Deployment", namespaced: true }],
};

/** Keeps objects by path, and the order of deletions. */
function memory() {
  const objects = new Map<string, { metadata: object }>();
  const removed: string[] = [];
  const cluster = {
    get: async (path: string) => (path in kinds ? { resources: kinds[path] } : objects.get(path)),
    async apply(path: string, body: Manifest) {
      const managedFields = [{ manager: "kubectl-pull-secret", operation: "Apply" }];
      const object = { ...body, metadata: { ...body.metadata, uid: path, managedFields } };
      objects.set(path, object);
      return object;
    },
    async remove(path: string, uid: string) {
      assert.equal(uid, path);
      removed.push(path);
      objects.delete(path);
    },
  } as unknown as Cluster;
  return { objects, removed, cluster };
}

const manifests: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: "regcred", namespace: "web" } },
  { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "web" } },
];
const asked = { force: false, check: false };

test("M13: what the parent has placed in two clusters it takes away from both, the namespace last", async () => {
  const clusters = [memory(), memory()];
  for (const { cluster, objects } of clusters) {
    await applyTo(cluster, manifests, asked);
    assert.equal(objects.size, 3);
  }
  for (const { cluster, objects, removed } of clusters) {
    const states = (await deleteFrom(cluster, manifests)).map(({ state }) => state);
    assert.deepEqual(states, ["deleted", "deleted", "deleted"]);
    assert.equal(objects.size, 0);
    assert.equal(removed.at(-1), "/api/v1/namespaces/web");
    const again = (await deleteFrom(cluster, manifests)).map(({ state }) => state);
    assert.deepEqual(again, ["gone", "gone", "gone"]);
  }
});

test("an object that somebody else made is kept, and keeps no other", async () => {
  const { cluster, objects } = memory();
  await applyTo(cluster, manifests, asked);
  const secret = "/api/v1/namespaces/web/secrets/regcred";
  objects.set(secret, { metadata: { uid: secret } });
  const deletions = await deleteFrom(cluster, manifests);
  assert.deepEqual(
    deletions.map(({ state }) => state),
    ["deleted", "kept", "deleted"],
  );
  assert.ok(objects.has(secret));
});

test("what is of no kind that is served is gone", async () => {
  const { cluster } = memory();
  const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };
  assert.deepEqual(await deleteFrom(cluster, [widget]), [
    { object: "Widget/a", namespace: "", state: "gone" },
  ]);
});

const ours = { manager: "kubectl-pull-secret", operation: "Apply" };
const creator = { manager: "kubectl-create", operation: "Update" };
const status = { manager: "kube-controller-manager", operation: "Update", subresource: "status" };
const table: readonly (readonly [string, readonly V1ManagedFieldsEntry[], RegExp | undefined])[] = [
  ["Secret", [ours], undefined],
  ["Secret", [ours, creator], undefined],
  ["Secret", [creator], /was not applied/],
  ["Secret", [], /was not applied/],
  ["Namespace", [ours, status], undefined],
  ["Namespace", [ours, creator], /is managed by kubectl-create, too/],
  ["CustomResourceDefinition", [ours, creator], /is managed by kubectl-create, too/],
];
for (const [kind, managed, why] of table)
  test(`${kind} of ${managed.map((one) => one.manager).join() || "nobody"}: ${why === undefined ? "deleted" : "kept"}`, () => {
    const said = whyKept(kind, managed);
    if (why === undefined) assert.equal(said, undefined);
    else assert.match(said ?? "", why);
  });
