import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { hasDeclaredMore, undoneBy } from "./declared-by.ts";

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
      "a last-applied annotation without the field, which has its default value",
      {
        annotations: lastApplied({}),
        managedFields: [entry("kubectl-client-side-apply", "Update")],
      },
      undefined,
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

const whole = {
  "f:metadata": { "f:labels": { "f:constructor": {}, "f:example.com/team": {} } },
  "f:spec": {
    "f:finalizers": { ".": {}, 'v:"a"': {} },
    "f:mounts": {
      'k:{"mountPath":"/a"}': { ".": {}, "f:mountPath": {}, "f:readOnly": {} },
    },
    "f:rules": {},
  },
};
const declaration = {
  metadata: { labels: { constructor: "x", "example.com/team": "a" } },
  spec: {
    finalizers: ["b", "a"],
    mounts: [{ mountPath: "/b" }, { mountPath: "/a", readOnly: true }],
    rules: [],
    more: 1,
  },
} as const;
const { metadata: metadataOf, spec: specOf } = declaration;
const declarations: readonly (readonly [what: string, declared: object, has: boolean])[] = [
  ["nothing", declaration, false],
  ["a label", { ...declaration, metadata: { labels: { constructor: "x" } } }, true],
  [
    "a label with the name of an inherited property",
    { ...declaration, metadata: { labels: { "example.com/team": "a" } } },
    true,
  ],
  ["an item of a set", { ...declaration, spec: { ...specOf, finalizers: ["b"] } }, true],
  [
    "an item with a key",
    { ...declaration, spec: { ...specOf, mounts: [{ mountPath: "/b" }] } },
    true,
  ],
  [
    "a field of an item",
    { ...declaration, spec: { ...specOf, mounts: [{ mountPath: "/a" }] } },
    true,
  ],
  ["a list", { metadata: metadataOf, spec: { ...specOf, rules: undefined } }, true],
  ["a whole object", { metadata: metadataOf }, true],
];
for (const [what, declared, has] of declarations)
  test(`finds what an earlier apply set and the next apply lacks: ${what}`, () => {
    const managed = (...entries: readonly V1ManagedFieldsEntry[]) =>
      hasDeclaredMore("us", { managedFields: [...entries] }, declared);
    const fieldsV1 = whole;
    assert.equal(managed(entry("us", "Apply", { fieldsV1 })), has);
    assert.equal(managed(entry("us", "Update", { fieldsV1 })), false);
    assert.equal(managed(entry("us", "Apply", { fieldsV1, subresource: "status" })), false);
    assert.equal(managed(entry("other", "Apply", { fieldsV1 })), false);
    assert.equal(hasDeclaredMore("us", undefined, declared), false);
  });
