import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import { takesOf } from "./guests.ts";

const spec: FleetSecretSpec = { secretRef: { name: "source" }, target: { name: "target" } };
const table: readonly (readonly [mark: string | undefined, refuse: boolean, adopt: boolean])[] = [
  [undefined, false, true],
  ["former/kube-system/one", false, true],
  ["id/kube-system/older", false, false],
  ["id/kube-system/younger", true, true],
];
for (const [mark, refuse, adopt] of table)
  test(`takes over a Secret of ${mark ?? "nobody"}: ${refuse} with Refuse, ${adopt} with Adopt`, () => {
    const rivals = [["id/kube-system/older"], ["id/kube-system/younger"]] as const;
    assert.equal(takesOf({ spec }, ...rivals)(mark), refuse);
    assert.equal(takesOf({ spec: { ...spec, conflicts: "Adopt" } }, ...rivals)(mark), adopt);
  });
