import assert from "node:assert/strict";
import { test } from "node:test";
import { fleetCommandLine } from "./flags.ts";

const table: readonly (readonly [value: string, ok: boolean])[] = [
  ["fleet", true],
  ["kube-system,fleet", false],
  ["Fleet", false],
  ["", false],
];
for (const [value, ok] of table)
  test(`${ok ? "accepts" : "refuses"} --fleet-namespace=${value}: the flag names one namespace`, () => {
    const parsed = fleetCommandLine.parse([`--fleet-namespace=${value}`]);
    assert.equal(parsed.ok, ok);
    assert.ok(!parsed.ok || parsed.value["fleet-namespace"] === value);
  });

test("reads --cluster-namespaces as a list, with blanks around a name", () => {
  const read = (value: string) => {
    const parsed = fleetCommandLine.parse([`--cluster-namespaces=${value}`]);
    return parsed.ok ? parsed.value["cluster-namespaces"] : undefined;
  };
  assert.deepEqual(read("clusters, others"), ["clusters", "others"]);
  for (const value of ["clusters,", ",", "Clusters", "a/b"])
    assert.equal(read(value), undefined, value);
});
