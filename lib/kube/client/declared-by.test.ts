import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { pathsOf, titleOf, undoneBy } from "./declared-by.ts";

const path = ["spec", "managementState"];
const state = { "f:spec": { "f:managementState": {} } };

const entry = (manager: string, operation: string, more: object = {}): V1ManagedFieldsEntry => ({
  manager,
  operation,
  fieldsV1: state,
  ...more,
});
const lastApplied = (spec: object) => ({
  "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec }),
});

const cases: readonly (readonly [what: string, metadata: V1ObjectMeta, who: string | undefined])[] =
  [
    ["nobody owns it", {}, undefined],
    ["the plugin itself", { managedFields: [entry("kubectl-pull-secret", "Apply")] }, undefined],
    [
      "an Apply declares",
      { managedFields: [entry("argocd-controller", "Apply")] },
      "argocd-controller",
    ],
    [
      "a server-side apply by a person declares, too",
      { managedFields: [entry("kubectl", "Apply")] },
      "kubectl",
    ],
    [
      "an Apply of another field does not",
      { managedFields: [entry("argocd-controller", "Apply", { fieldsV1: { "f:spec": {} } })] },
      undefined,
    ],
    ["a tool that updates", { managedFields: [entry("helm", "Update")] }, "helm"],
    ["a person who edited", { managedFields: [entry("kubectl-edit", "Update")] }, undefined],
    [
      "a status write",
      { managedFields: [entry("x", "Apply", { subresource: "status" })] },
      undefined,
    ],
    [
      "what kubectl apply remembers, with the field",
      {
        annotations: lastApplied({ managementState: "Paused" }),
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      "kubectl-client-side-apply",
    ],
    [
      "what kubectl apply remembers, of which the field is a default",
      {
        annotations: lastApplied({}),
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      undefined,
    ],
    [
      "remembered words that are no JSON",
      {
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{" },
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      undefined,
    ],
  ];
for (const [what, metadata, who] of cases)
  test(`${what}: ${who === undefined ? "nobody undoes it" : `${who} undoes it`}`, () =>
    assert.equal(undoneBy(metadata, path, ["kubectl-pull-secret"]), who));

const spec = {
  rollout: { maxUnavailable: "25%" },
  protectedRegistries: ["quay.io"],
  sources: [{ name: "team-a", secretRef: { name: "a" }, priority: 1 }],
};

test("finds every value of a declaration, also in lists", () => {
  assert.deepEqual(pathsOf(spec, ["spec"]).map(titleOf), [
    "spec.rollout.maxUnavailable",
    "spec.protectedRegistries[quay.io]",
    "spec.sources[team-a].name",
    "spec.sources[team-a].secretRef.name",
    "spec.sources[team-a].priority",
  ]);
});

const team = { "f:priority": {}, "f:secretRef": { "f:name": {} } };
const listed = {
  "f:protectedRegistries": { 'v:"quay.io"': {} },
  "f:sources": { 'k:{"name":"team-a"}': team },
};
const titlesOf = (metadata: V1ObjectMeta) =>
  pathsOf(spec, ["spec"])
    .filter((one) => undoneBy(metadata, one, []) !== undefined)
    .map(titleOf);

test("names the items of lists that another tool declares, and no other item", () => {
  const declared = (fields: object) =>
    titlesOf({
      managedFields: [entry("argocd-controller", "Apply", { fieldsV1: { "f:spec": fields } })],
    });
  const theirs = [
    "spec.protectedRegistries[quay.io]",
    "spec.sources[team-a].secretRef.name",
    "spec.sources[team-a].priority",
  ];
  assert.deepEqual(declared(listed), theirs);
  assert.deepEqual(declared({ "f:sources": { 'k:{"name":"team-b"}': team } }), []);
  const remembered = { managedFields: [], annotations: lastApplied(spec) };
  assert.equal(titlesOf(remembered).length, 5);
  const others = { ...spec, sources: [{ name: "team-b" }], protectedRegistries: ["ghcr.io"] };
  assert.deepEqual(titlesOf({ annotations: lastApplied(others) }), ["spec.rollout.maxUnavailable"]);
});
