import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { undoneBy } from "./declared-by.ts";

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
    ["no manager owns it", {}, undefined],
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
      "an Apply of another field does not declare it",
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
      "the last-applied annotation, with the field",
      {
        annotations: lastApplied({ managementState: "Paused" }),
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      "kubectl-client-side-apply",
    ],
    [
      "the last-applied annotation, with the field of an owner that is not known",
      { annotations: lastApplied({ managementState: "Paused" }) },
      "kubectl apply",
    ],
    [
      "a last-applied annotation without the field, which has its default value",
      {
        annotations: lastApplied({}),
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      undefined,
    ],
    [
      "a last-applied annotation without the field, and an Update by another tool",
      { annotations: lastApplied({}), managedFields: [entry("helm", "Update")] },
      undefined,
    ],
    [
      "a last-applied annotation without the field, and an Apply by another tool",
      { annotations: lastApplied({}), managedFields: [entry("helm", "Apply")] },
      "helm",
    ],
    [
      "a last-applied annotation that is not JSON",
      {
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{" },
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      undefined,
    ],
  ];
for (const [what, metadata, who] of cases)
  test(`${what}: ${who === undefined ? "no manager undoes it" : `${who} undoes it`}`, () =>
    assert.equal(undoneBy(metadata, path, ["kubectl-pull-secret"]), who));
