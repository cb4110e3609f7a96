import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import { fieldManager, isOurs, otherManager, ownerLabels, stateManager } from "./ownership.ts";

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
  [
    "an object that our manager of the state applied is ours",
    { managedFields: [others, { ...applied, manager: stateManager }] },
    true,
  ],
  [
    "an object that our manager only updated is not ours",
    { managedFields: [{ ...applied, operation: "Update" }] },
    false,
  ],
];
for (const [sentence, metadata, answer] of owners)
  test(`ownership: ${sentence}`, () => assert.equal(isOurs(metadata), answer));

const wrote = (manager: string, minute: number, more: object = {}): V1ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  // On the wire, a time is a text.
  time: `2026-01-01T00:0${minute}:00Z` as unknown as Date,
  ...more,
});
const writers: readonly (readonly [
  what: string,
  managedFields: readonly V1ManagedFieldsEntry[],
  name: string | undefined,
])[] = [
  ["the last of several others", [wrote("a", 1), wrote("b", 3), wrote("c", 2)], "b"],
  ["another one before a later write of ours", [wrote("a", 1), wrote(fieldManager, 2)], "a"],
  [
    "another one before a later write of the status",
    [wrote("a", 1), wrote("b", 2, { subresource: "status" })],
    "a",
  ],
  ["one with a name of 128 characters", [wrote("a".repeat(128), 1)], "a".repeat(128)],
  ["none with a name of 129 characters", [wrote("a".repeat(129), 1)], undefined],
  ["none with a name that is not safe to show", [wrote("a\nb", 1)], undefined],
  ["none without a name", [wrote("", 1)], undefined],
  ["none if only we wrote", [wrote(fieldManager, 1), wrote(stateManager, 2)], undefined],
];
for (const [what, managedFields, name] of writers)
  test(`names as the other manager ${what}`, () =>
    assert.equal(otherManager({ managedFields: [...managedFields] }), name));
