import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { commands } from "#plugin/commands.ts";
import { anchorsOf } from "#tools/pages/anchors.fixture.ts";
import { metricsPage } from "#tools/pages/metrics.ts";
import { alerts } from "./alerts.ts";
import { panels } from "./monitoring.ts";

test("links the runbook of every alert to a heading of a page", () => {
  for (const { alert, runbook } of alerts) {
    const [file = "", anchor = ""] = runbook.split("#");
    assert.ok(anchorsOf(readFileSync(file, "utf8")).has(anchor), `${alert}: ${runbook}`);
  }
});

/** The paragraphs below the heading with this anchor, without the headings below it. */
function paragraphsBelow(file: string, anchor: string): readonly string[] {
  const parts = readFileSync(file, "utf8").split(/^(?=#{1,6} )/m);
  const [, ...paragraphs] =
    parts.find((part) => anchorsOf(part).has(anchor))?.split(/\n{2,}/) ?? [];
  const lines = paragraphs.map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim());
  return lines.filter((line) => line !== "");
}

test("gives every alert a runbook with a command or an action", () => {
  for (const { alert, runbook } of alerts) {
    const [file = "", anchor = ""] = runbook.split("#");
    const paragraphs = paragraphsBelow(file, anchor);
    const text = paragraphs.join(" ");
    const [, you = ""] = /\*\*Do\*\*: (.+)$/.exec(paragraphs.at(-1) ?? "") ?? [];
    const action = you !== "" && !/^No action needed[^;]*$/.test(you);
    assert.ok(action || /```sh |`kubectl /.test(text), `${alert}: ${runbook}: ${text}`);
  }
});

test("gives every alert a description with an existing command", () => {
  let ofPlugin = 0;
  for (const { alert, description } of alerts) {
    const shown = Array.from(description.matchAll(/`kubectl ([^`]+)`/g), ([, line = ""]) => line);
    assert.ok(shown.length > 0, `${alert}: ${description}`);
    for (const line of shown) {
      const [, firstWord = "", two = ""] = /^pull-secret (\S+)(?: (\S+))?/.exec(line) ?? [];
      if (firstWord === "") continue;
      const command = commands[`${firstWord} ${two}`] ?? commands[firstWord];
      assert.ok(command, `${alert}: ${line}`);
      for (const [, flag = ""] of line.matchAll(/ --([a-z][a-z-]*)/g))
        assert.ok(Object.hasOwn(command.flags, flag), `${alert}: ${line}`);
      ofPlugin += 1;
    }
  }
  assert.ok(ofPlugin > 15, String(ofPlugin));
});

/** Metric → the labels that name the subject of an alert, under their names in Prometheus. */
const naming: Readonly<Record<string, readonly string[]>> = {
  credential_expiry_timestamp_seconds: ["source"],
  nodes: ["state"],
  fleet_clusters: ["object", "state"],
  sync_secret_reconcile_total: ["exported_namespace"],
  sync_last_success_timestamp_seconds: ["exported_namespace"],
};

test("keeps the labels that name an alert's subject, and shows them in its description", () => {
  let named = 0;
  for (const { alert, expr, description } of alerts) {
    const metrics = Array.from(expr.matchAll(/global_pull_secret_(\w+)/g), ([, name = ""]) => name);
    const expected = metrics.flatMap((metric) => naming[metric] ?? []);
    const labelLists = Array.from(expr.matchAll(/ by \(([^)]*)\)/g), ([, list = ""]) =>
      list.split(", "),
    );
    assert.deepEqual(labelLists.flat(), expected, `${alert}: ${expr}`);
    const shown = Array.from(
      description.matchAll(/\{\{ \$labels\.(\w+) \}\}/g),
      ([, it = ""]) => it,
    );
    assert.deepEqual(
      [...new Set(shown)].toSorted(),
      expected.toSorted(),
      `${alert}: ${description}`,
    );
    named += expected.length;
  }
  assert.equal(named, 10);
});

test("uses in alerts and panels only metrics of docs/reference/metrics.md", () => {
  const page = metricsPage();
  const asked = [...alerts, ...panels].flatMap(({ expr }) =>
    Array.from(expr.matchAll(/global_pull_secret_(\w+)/g), ([, name = ""]) => name),
  );
  assert.ok(asked.length > 25);
  for (const name of asked) assert.match(page, new RegExp(`\`${name}\\b`), name);
});

test("gives every alert a unique name", () => {
  const names = alerts.map(({ alert }) => alert);
  assert.deepEqual(names, [...new Set(names)]);
});
