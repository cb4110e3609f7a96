import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "../sources/snapshot.ts";
import { SourceWriters } from "./memory.ts";

const now = new Date("2026-11-29T12:00:00Z");
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
const data = { "f:data": {} };

/** What `SourceWriters` reports of the additional Secret with these records, each time. */
function reported(...records: readonly (readonly object[])[]): readonly (readonly string[])[] {
  const writers = new SourceWriters();
  return records.map((managedFields) => {
    const metadata = { name: "additional-pull-secret", namespace: "kube-system", managedFields };
    const snapshot = { additional: { metadata }, extras: [], original: "absent" };
    return writers.of(snapshot as unknown as Snapshot, now);
  });
}

test("names the programs that wrote data of a source within ten minutes", () => {
  const written = [
    { manager: "helm", time: minutesAgo(10), fieldsV1: data },
    { manager: "argocd", time: minutesAgo(1).toISOString(), fieldsV1: data },
    { manager: "old", time: minutesAgo(11), fieldsV1: data },
    { manager: "labels", time: minutesAgo(1), fieldsV1: { "f:metadata": {} } },
    { manager: "timeless", fieldsV1: data },
    { manager: "odd", time: "yesterday", fieldsV1: data },
    { time: minutesAgo(1), fieldsV1: data },
    { manager: "empty", time: minutesAgo(1) },
  ];
  assert.deepEqual(reported(written), [["kube-system/additional-pull-secret (argocd, helm)"]]);
});

test("remembers a writer whose value another program has replaced", () => {
  const [first, second] = [
    [{ manager: "helm", time: minutesAgo(2), fieldsV1: data }],
    [{ manager: "argocd", time: minutesAgo(1), fieldsV1: data }],
  ];
  const [, both] = reported(first, second);
  assert.deepEqual(both, ["kube-system/additional-pull-secret (argocd, helm)"]);
});
