import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { openMeters } from "#runtime/metrics.ts";
import { createMetrics } from "#controller/status/metrics.ts";
import { createMetrics as createSyncMetrics } from "#tenants/metrics.ts";
import { metricsPage } from "./metrics.ts";

const prefix = "global_pull_secret_";

test("lists every metric of all our programs", () => {
  const sync = openMeters();
  createSyncMetrics(sync);
  const registries = [createMetrics().registry, sync.registry];
  const metricNames = registries.flatMap((registry) =>
    registry.getMetricsAsArray().map(({ name }) => name),
  );
  // The fleet creates its metrics while it runs, therefore we find their names in its source.
  const fleet = globSync("fleet/**/*.ts").flatMap((file) =>
    Array.from(
      readFileSync(file, "utf8").matchAll(/meters\.gauge\("(\w+)"/g),
      ([, name = ""]) => prefix + name,
    ),
  );
  assert.ok(fleet.length > 0);
  const names = [...metricNames, ...fleet].filter((name) => name.startsWith(prefix));
  const page = metricsPage();
  const lacking = names
    .map((name) => name.slice(prefix.length))
    .filter((name) => !new RegExp(`\`(?:${prefix})?${name}\\b`).test(page));
  assert.deepEqual(lacking, []);
});
