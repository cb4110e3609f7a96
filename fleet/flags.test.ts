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
