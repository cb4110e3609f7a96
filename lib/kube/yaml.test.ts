import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDocuments } from "./yaml.ts";

test("reads every field of each document unchanged, and leaves out empty documents", () => {
  const text = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {x-kubernetes-preserve-unknown-fields: true, unheard-of: 1}
---
---
# nothing
---
metadata: {creationTimestamp: 2026-11-23T09:00:00Z}
`;
  assert.deepEqual(loadDocuments(text), [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      spec: { "x-kubernetes-preserve-unknown-fields": true, "unheard-of": 1 },
    },
    { metadata: { creationTimestamp: "2026-11-23T09:00:00Z" } },
  ]);
});

test("reads an octal number as kubectl does, and applies a merge key", () => {
  const text =
    "modes: [0400, 0o400, -010, 08, 1_0, 400]\nbase: &base {a: 1}\nmore: {<<: *base, b: 2}\n";
  assert.deepEqual(loadDocuments(text), [
    { modes: [256, 256, -8, 8, "1_0", 400], base: { a: 1 }, more: { a: 1, b: 2 } },
  ]);
});
