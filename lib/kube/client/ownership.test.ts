import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import { fieldManager, isOurs, ownerLabels } from "./ownership.ts";

const applied: V1ManagedFieldsEntry = { manager: fieldManager, operation: "Apply", fieldsV1: {} };
const others: V1ManagedFieldsEntry = { manager: "helm", operation: "Update", fieldsV1: {} };

const owners: readonly (readonly [
  sentence: string,
  metadata: object | undefined,
  answer: boolean,
])[] = [
  ["an object with our label is ours", { labels: ownerLabels }, true],
  [
    "an object that lost the label but was applied by us is ours",
    { managedFields: [applied] },
    true,
  ],
  [
    "an object of another program is not ours",
    { labels: { "app.kubernetes.io/managed-by": "Helm" }, managedFields: [others] },
    false,
  ],
  ["an object without metadata is not ours", undefined, false],
];
for (const [sentence, metadata, answer] of owners)
  test(`ownership: ${sentence}`, () => assert.equal(isOurs(metadata), answer));
