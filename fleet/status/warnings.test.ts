import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterProfilesSource, FleetSecretSpec } from "#api/fleet-secret.ts";
import { warningsOf } from "./warnings.ts";

const spec = { secretRef: { name: "source" }, target: { name: "target" } };
const from = (selector: ClusterProfilesSource["selector"]): FleetSecretSpec => ({
  ...spec,
  clusterProfiles: { namespaces: ["clusters"], selector, clusterManagers: ["a"] },
});

const cases: readonly (readonly [what: string, spec: FleetSecretSpec, reasons: string[]])[] = [
  [
    "labels of namespaces",
    { ...spec, clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } } } },
    [],
  ],
  ["every namespace", { ...spec, clusterAPI: { namespaceSelector: {} } }, ["EveryNamespace"]],
  ["labels of profiles", from({ matchLabels: { a: "b" } }), []],
  ["every profile", from({}), ["EveryProfile"]],
  ["every profile, by no labels", from({ matchLabels: {} }), ["EveryProfile"]],
];
for (const [what, given, reasons] of cases)
  test(`${what}: said in status are ${reasons.join(", ") || "no warnings"}`, () =>
    assert.deepEqual(
      warningsOf(given).map(({ reason }) => reason),
      reasons,
    ));
