import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import { hasForeignSpec } from "./ensure.ts";
import { fieldManager, isOurs, ownerLabels } from "#kube/client/ownership.ts";

const entry = (
  manager: string,
  fields: object,
  changes: Partial<V1ManagedFieldsEntry> = {},
): V1ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  fieldsV1: fields,
  ...changes,
});
const ours = entry(
  fieldManager,
  { "f:spec": { "f:template": { "f:spec": { "f:hostNetwork": {}, "f:tolerations": {} } } } },
  { operation: "Apply" },
);
const template = (fields: object) => ({ "f:spec": { "f:template": { "f:spec": fields } } });

const cases: readonly (readonly [
  sentence: string,
  other: V1ManagedFieldsEntry,
  answer: boolean,
])[] = [
  ["a field that we do not declare", entry("kubectl-edit", template({ "f:hostPID": {} })), true],
  [
    "a field that we declare as well",
    entry("kubectl-edit", template({ "f:hostNetwork": {} })),
    false,
  ],
  [
    "a part of a list that we declare whole",
    entry("kubectl-edit", template({ "f:tolerations": { "k:{}": {} } })),
    false,
  ],
  ["a label", entry("other", { "f:metadata": { "f:labels": { "f:team": {} } } }), false],
  [
    "the status",
    entry("kube-controller-manager", { "f:spec": { "f:x": {} } }, { subresource: "status" }),
    false,
  ],
];
for (const [sentence, other, answer] of cases) {
  test(`foreign in the DaemonSet's spec is ${answer ? "" : "not "}${sentence}`, () => {
    assert.equal(hasForeignSpec({ managedFields: [ours, other] }), answer);
  });
}

const owners: readonly (readonly [
  sentence: string,
  metadata: object | undefined,
  answer: boolean,
])[] = [
  ["an object with our label is ours", { labels: ownerLabels }, true],
  ["one that lost the label but was applied by us is ours", { managedFields: [ours] }, true],
  [
    "one of somebody else is not",
    { labels: { "app.kubernetes.io/managed-by": "Helm" }, managedFields: [entry("helm", {})] },
    false,
  ],
  ["one without metadata is not", undefined, false],
];
for (const [sentence, metadata, answer] of owners)
  test(`ownership: ${sentence}`, () => assert.equal(isOurs(metadata), answer));
