import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import { fleetManagedBy, fleetOwnerAnnotation } from "#contract/names.ts";
import { contentOf } from "../rules/content.ts";
import { keptProof, keptSecret } from "./excerpt.ts";
import { proofOf } from "./proof.ts";

const owner = { apiVersion: "v1", kind: "Node", name: "a", uid: "u", controller: true };
const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "pull-secret",
    uid: "u",
    resourceVersion: "7",
    labels: { ...fleetManagedBy, other: "x" },
    annotations: { [fleetOwnerAnnotation]: "o", other: "x" },
    ownerReferences: [owner],
    finalizers: ["a.example/held"],
    managedFields: [{ manager: "m" }],
  },
  type: "Opaque",
  immutable: true,
  data: { a: "eA==" },
};

test("keeps only the needed fields of a Secret, and a digest instead of its data", () => {
  assert.deepEqual(keptSecret(secret), {
    metadata: {
      uid: "u",
      resourceVersion: "7",
      annotations: { [fleetOwnerAnnotation]: "o" },
      labels: fleetManagedBy,
    },
    type: "Opaque",
    immutable: true,
    digest: contentOf("Opaque", { a: "eA==" }).digest,
    keys: ["a"],
  });
});

test("derives the same proof from the excerpt of a GlobalPullSecret as from the whole object", () => {
  const object = {
    metadata: { name: "cluster", generation: 3, managedFields: [{}] },
    spec: { sources: [{ name: "fleet", secretRef: { name: "fleet-pull-secret" } }] },
    status: {
      observedGeneration: 3,
      sources: [{ name: "fleet", resourceVersion: "40", servedResourceVersion: "40" }],
      registries: [{ registry: "quay.io" }],
    },
  };
  for (const version of ["40", "41"])
    assert.deepEqual(
      proofOf(keptProof(object), "fleet-pull-secret", version),
      proofOf(object, "fleet-pull-secret", version),
    );
});

const nests = JSON.parse(`[${"[],".repeat(1000)}[]]`) as unknown[];
const many = (value: unknown, count = 20_000) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));
/** Objects from a hostile cluster. Each is much larger than the excerpt that we keep of it. */
const hostile: readonly (readonly [what: string, object: unknown])[] = [
  ["lists in lists", { metadata: { annotations: nests, uid: nests }, data: nests, spec: nests }],
  ["an endless text", { metadata: { uid: "x".repeat(99_999) }, type: "x".repeat(99_999) }],
  ["endless keys", { data: many(""), metadata: { annotations: many("") } }],
  ["values of other types", { data: many([], 10), type: 5 }],
  ["endless owners", { metadata: { ownerReferences: nests } }],
  ["endless finalizers", { metadata: { finalizers: nests } }],
  ["endless sources", { spec: { sources: nests }, status: { sources: nests } }],
];
for (const [what, object] of hostile)
  test(`keeps almost nothing of ${what}`, () => {
    const excerpts = [keptSecret, keptProof].map((keep) => keep(object as KubernetesObject));
    assert.ok(JSON.stringify(excerpts).length < 2000, JSON.stringify(excerpts).slice(0, 2000));
  });
