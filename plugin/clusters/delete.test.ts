/** Checks that manifests are applied to two clusters and deleted again. The clusters are fakes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry, V1OwnerReference } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { mockPauses } from "../fake.fixture.ts";
import { applyTo } from "./apply.ts";
import { deleteFrom, whyKept } from "./delete.ts";
import type { Manifest } from "./manifests.ts";

const ours = { manager: "kubectl-pull-secret", operation: "Apply" };

const kinds: Readonly<Record<string, readonly object[]>> = {
  "/api/v1": [
    { name: "namespaces", kind: "Namespace", namespaced: false },
    { name: "secrets", kind: "Secret", namespaced: true },
  ],
  "/apis/other.example": [],
  "/apis/other.example/v1": [{ name: "widgets", kind: "Widget", namespaced: true }],
  "/apis/apps/v1": [{ name: "deployments", kind: "Deployment", namespaced: true }],
};

/** A cluster that stores objects by path, and records the order of deletions. */
function memory() {
  const objects = new Map<string, { metadata: object }>();
  const removed: string[] = [];
  const cluster = {
    get: async (path: string) =>
      path in kinds
        ? { resources: kinds[path], versions: [{ groupVersion: "other.example/v1" }] }
        : objects.get(path),
    async apply(path: string, body: Manifest) {
      // Like a real API server, this fake does not record an apply that sets no field.
      const { name: _, namespace: __, ...more } = body.metadata;
      const isBare = Object.keys(body).length === 3 && Object.keys(more).length === 0;
      const managedFields = isBare ? [] : [ours];
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

const fields = [{}, { type: "Opaque" }, { spec: {} }] as const;
const identities: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: "regcred", namespace: "web" } },
  { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "web" } },
];
const manifests = identities.map((identity, at) => Object.assign(identity, fields[at]));

test("M13: deletes from two clusters the objects that it has applied there, the namespace last", async () => {
  const clusters = [memory(), memory()];
  for (const { cluster, objects } of clusters) {
    await applyTo(cluster, manifests);
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

for (const [times, states] of [
  [3, "created created"],
  [40, "created created"],
  [41, "created failed"],
] as const)
  test(`waits 10 s until the API server serves the kind of a CRD, here at read ${times}`, async (t) => {
    const pauses = mockPauses(t);
    const { cluster } = memory();
    const version = "example.com/v1";
    const crd = { name: "customresourcedefinitions", kind: "CustomResourceDefinition" };
    const get = cluster.get.bind(cluster);
    let reads = 0;
    cluster.get = async <T>(path: string) => {
      if (path === "/apis/apiextensions.k8s.io/v1") return { resources: [crd] } as T;
      if (path !== `/apis/${version}`) return await get<T>(path);
      reads += 1;
      return { resources: reads < times ? [] : [{ name: "widgets", kind: "Widget" }] } as T;
    };
    const spec = { group: "example.com", names: { kind: "Widget" } };
    const definition = { kind: crd.kind, metadata: { name: "widgets.example.com" }, spec };
    const objects = [
      { apiVersion: "apiextensions.k8s.io/v1", ...definition },
      { apiVersion: version, kind: "Widget", metadata: { name: "a" } },
    ];
    const outcomes = await applyTo(cluster, objects);
    assert.equal(outcomes.map(({ state }) => state).join(" "), states);
    assert.equal(pauses.passed, (Math.min(times, 40) - 1) * 250);
  });

const kindTable = [
  ["example.com/v1", "Widget", "gone"],
  ["other.example/v1beta1", "Gadget", "gone"],
  ["other.example/v1beta1", "Widget", "failed"],
  ["v1", "Secrets", "failed"],
] as const;
for (const [apiVersion, kind, state] of kindTable)
  test(`reports ${apiVersion} ${kind}, which is not served, as ${state}`, async () => {
    const { cluster } = memory();
    const [deletion] = await deleteFrom(cluster, [{ apiVersion, kind, metadata: { name: "a" } }]);
    assert.partialDeepStrictEqual(deletion, { object: `${kind}/a`, namespace: "", state });
    if (state === "failed") assert.match(deletion?.why ?? "", /is not served as/);
  });

const creator = { manager: "kubectl-create", operation: "Update" };
const status = { manager: "controller", operation: "Update", subresource: "status" };
const completing = { manager: "kube-controller-manager", operation: "Update" };
const owner = { apiVersion: "v1", kind: "App", name: "web", uid: "u" };
const table: readonly (readonly [
  managedFields: readonly V1ManagedFieldsEntry[],
  ownerReferences: readonly V1OwnerReference[],
  why: RegExp | undefined,
])[] = [
  [[ours], [], undefined],
  [[ours, status], [], undefined],
  [[ours, completing], [], undefined],
  [[ours, creator], [], /is managed by kubectl-create, too/],
  [[ours, { ...ours, manager: "argocd" }], [], /is managed by argocd, too/],
  [[ours], [owner], /belongs to App web/],
  [[creator], [], /was not applied/],
  [[{ ...ours, operation: "Update" }], [], /was not applied/],
  [[], [], /was not applied/],
];
for (const [managed, owners, why] of table)
  test(`${why === undefined ? "deletes" : "keeps"} an object with ${owners.length} owners, managed by ${managed.map((entry) => entry.manager).join() || "no client"}`, () => {
    const said = whyKept({ managedFields: [...managed], ownerReferences: [...owners] });
    if (why === undefined) assert.equal(said, undefined);
    else assert.match(said ?? "", why);
  });
