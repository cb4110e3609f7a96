/**
 * Checks with promtool that every alert is silent before its time, fires afterwards, and ends when
 * its cause is over.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { alerts, programs, ruleGroupsOf, type Alert, type Program } from "#tools/install/alerts.ts";
import { run } from "../cluster/run.ts";
import { program as promtoolPath } from "./prometheus.ts";

/** A series as Prometheus stores it after a scrape: with the pod's namespace. */
function scraped(series: string, namespace = "kube-system"): string {
  const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  return `global_pull_secret_${name}{${[`namespace="${namespace}"`, labels].filter(Boolean).join(",")}}`;
}

/**
 * Each series has healthy values for `well` minutes, failing values for `wrong` minutes, and then
 * healthy values again.
 */
const [well, wrong] = [5, 200];

/** Alert → a series, and its values while healthy, while failing, and afterwards. */
const special: Readonly<Record<string, readonly [series: string, values: string]>> = {
  GlobalPullSecretNoLeader: ["leader", `1x${well} 0x${wrong} 1x100`],
  GlobalPullSecretRolloutSlow: ["rolled_out", `1x${well} 0x${wrong} 1x100`],
  GlobalPullSecretNodesLeftOut: ['nodes{state="Silent"}', `0x${well} 1x${wrong} 0x100`],
  // promtool's time starts in 1970.
  GlobalPullSecretCredentialExpires: [
    'credential_expiry_timestamp_seconds{source="additional-pull-secret"}',
    `999999x${well} 0x${wrong} 999999x100`,
  ],
  GlobalPullSecretTenantTokenExpires: [
    "sync_token_expiry_timestamp_seconds",
    `999999x${well} 60x${wrong} 999999x100`,
  ],
  GlobalPullSecretFleetClusterAway: [
    'fleet_clusters{object="kube-system/a",state="Unreachable"}',
    `0x${well} 1x${wrong} 0x100`,
  ],
  GlobalPullSecretFleetClusterFailed: [
    'fleet_clusters{object="kube-system/a",state="Failed"}',
    `0x${well} 2x${wrong} 0x100`,
  ],
  GlobalPullSecretFleetClusterWaits: [
    'fleet_clusters{object="kube-system/a",state="Waiting"}',
    `0x${well} 1x${wrong} 0x100`,
  ],
  GlobalPullSecretSyncAway: [
    'sync_last_success_timestamp_seconds{exported_namespace="tenant"}',
    `999999x${well} 0x${wrong} 999999x100`,
  ],
  GlobalPullSecretSyncErrors: [
    // Prometheus renames the metric's own label `namespace`, because the pod has a label of this
    // name.
    'sync_secret_reconcile_total{exported_namespace="tenant",result="error"}',
    `0x${well} 1+1x${wrong} ${wrong + 1}x100`,
  ],
};

/** The alert's series and its values. By default the series exists only while it fails. */
function seriesOf({ alert }: Alert): readonly [string, string] {
  const reason = alert.replace("GlobalPullSecret", "");
  return special[alert] ?? [`trouble{reason="${reason}"}`, `_x${well + 1} 1x${wrong} stale`];
}

const minutes = (time: string): number => Number.parseInt(time, 10) * (time.endsWith("h") ? 60 : 1);

/**
 * The alert that must fire for this series. Its labels and its description use only those labels of
 * the series that the expression keeps.
 */
function firing({ expr, severity, summary, runbook, description }: Alert, series: string): object {
  const [, labelList = ""] = / by \(([^)]*)\)/.exec(expr) ?? [];
  const of = Array.from(series.matchAll(/(\w+)="([^"]*)"/g), ([, label, value]) => [label, value]);
  const labels = Object.fromEntries(
    of.filter(([label = ""]) => labelList.split(", ").includes(label)),
  ) as Readonly<Record<string, string>>;
  const filled = (_: string, label: string): string => labels[label] ?? "";
  return {
    exp_labels: { severity, namespace: "kube-system", ...labels },
    exp_annotations: {
      summary,
      description: description.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, filled),
      runbook_url: runbook,
    },
  };
}

function testOf(rule: Alert): object {
  const { alert } = rule;
  const [series, values] = seriesOf(rule);
  const at = (minute: number, fires: boolean) => ({
    eval_time: `${minute}m`,
    alertname: alert,
    exp_alerts: fires ? [firing(rule, series)] : [],
  });
  const begins = well + 1 + minutes(rule.for);
  return {
    interval: "1m",
    input_series: [{ series: scraped(series), values }],
    alert_rule_test: [
      at(begins - 1, false),
      at(begins + 2, true),
      at(well + wrong - 1, true),
      at(well + wrong + 25, false),
    ],
  };
}

async function promtool(program: Program, tests: readonly object[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rules-"));
  try {
    // JSON is YAML.
    writeFileSync(join(folder, "rules.yaml"), JSON.stringify(ruleGroupsOf(program)));
    const suite = { rule_files: ["rules.yaml"], evaluation_interval: "1m", tests };
    writeFileSync(join(folder, "tests.yaml"), JSON.stringify(suite));
    const file = await promtoolPath("promtool");
    await run([file, "check", "rules", join(folder, "rules.yaml")]);
    return await run([file, "test", "rules", join(folder, "tests.yaml")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const program of programs)
  test(`${program}: fires every alert after its wait, and ends the alert when its cause is over`, async () => {
    const its = alerts.filter(({ of }) => of.includes(program));
    assert.ok(its.length > 0);
    assert.match(await promtool(program, its.map(testOf)), /SUCCESS/);
  });

for (const [what, series, values] of [
  ["a missing controller", 'up{job="other"}', "1x20"],
  ["the leader of another namespace", scraped("leader", "clusters-guest"), "1x20"],
] as const)
  test(`treats ${what} as a missing leader`, async () => {
    const rule = alerts.find(({ alert }) => alert === "GlobalPullSecretNoLeader");
    assert.ok(rule);
    const asked = { eval_time: "10m", alertname: rule.alert, exp_alerts: [firing(rule, series)] };
    const input_series = [{ series, values }];
    const suite = { interval: "1m", input_series, alert_rule_test: [asked] };
    assert.match(await promtool("controller", [suite]), /SUCCESS/);
  });
