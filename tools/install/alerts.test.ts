import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { anchorsOf } from "#tools/pages/markdown.ts";
import { metricsPage } from "#tools/pages/metrics.ts";
import { alerts } from "./alerts.ts";
import { panels } from "./monitoring.ts";

test("links the runbook of every alert to a heading of a page", () => {
  for (const { alert, runbook } of alerts) {
    const [file = "", anchor = ""] = runbook.split("#");
    assert.ok(anchorsOf(readFileSync(file, "utf8")).has(anchor), `${alert}: ${runbook}`);
  }
});

test("uses in alerts and panels only metrics of docs/reference/metrics.md", () => {
  const page = metricsPage();
  const asked = [...alerts, ...panels].flatMap(({ expr }) =>
    Array.from(expr.matchAll(/global_pull_secret_(\w+)/g), ([, name = ""]) => name),
  );
  assert.ok(asked.length > 25);
  for (const name of asked) assert.match(page, new RegExp(`\`${name}\\b`), name);
});

test("an alert has one name", () => {
  const names = alerts.map(({ alert }) => alert);
  assert.deepEqual(names, [...new Set(names)]);
});
