/**
 * Every alert with promtool: silent before its time, firing after it, over when its cause is over.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { alerts, ruleGroups, type Alert } from "#tools/install/alerts.ts";
import { run } from "../cluster/run.ts";
import { program } from "./prometheus.ts";

const prefix = "global_pull_secret_";

/** Minutes: healthy until the first, failing until the second, healthy again afterwards. */
const [well, wrong] = [5, 200];

/** Alert → a series, and its values while healthy, while failing, and afterwards. */
const special: Readonly<Record<string, readonly [series: string, values: string]>> = {
  GlobalPullSecretNoLeader: ["leader", `1x${well} 0x${wrong} 1x100`],
  GlobalPullSecretRolloutSlow: ["rolled_out", `1x${well} 0x${wrong} 1x100`],
  GlobalPullSecretNodesLeftOut: ['nodes{state="excused"}', `0x${well} 1x${wrong} 0x100`],
  // promtool's time starts in 1970.
  GlobalPullSecretCredentialExpires: [
    'credential_expiry_timestamp_seconds{source="additional"}',
    `999999x${well} 0x${wrong} 999999x100`,
  ],
  GlobalPullSecretTenantTokenExpires: [
    "sync_token_expiry_timestamp_seconds",
    `999999x${well} 60x${wrong} 999999x100`,
  ],
  GlobalPullSecretFleetClusterAway: [
    'fleet_clusters{state="Unreachable"}',
    `0x${well} 1x${wrong} 0x100`,
  ],
  GlobalPullSecretFleetClusterFailed: [
    'fleet_clusters{state="Failed"}',
    `0x${well} 2x${wrong} 0x100`,
  ],
  GlobalPullSecretSyncErrors: [
    'sync_secret_reconcile_total{namespace="tenant",result="error"}',
    `0x${well} 1+1x${wrong} ${wrong + 1}x100`,
  ],
};

/** A condition that is over has no series. */
function seriesOf({ alert }: Alert): readonly [string, string] {
  const reason = alert.replace("GlobalPullSecret", "");
  return special[alert] ?? [`trouble{reason="${reason}"}`, `_x${well + 1} 1x${wrong} stale`];
}

const minutes = (time: string): number => Number.parseInt(time, 10) * (time.endsWith("h") ? 60 : 1);

function testOf(one: Alert): object {
  const { alert, severity, summary, runbook } = one;
  const [series, values] = seriesOf(one);
  const at = (minute: number, fires: boolean) => ({
    eval_time: `${minute}m`,
    alertname: alert,
    exp_alerts: fires
      ? [{ exp_labels: { severity }, exp_annotations: { summary, runbook_url: runbook } }]
      : [],
  });
  const begins = well + 1 + minutes(one.for);
  return {
    interval: "1m",
    input_series: [{ series: prefix + series, values }],
    alert_rule_test: [
      at(begins - 1, false),
      at(begins + 2, true),
      at(well + wrong - 1, true),
      at(well + wrong + 25, false),
    ],
  };
}

async function promtool(tests: readonly object[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rules-"));
  try {
    writeFileSync(join(folder, "rules.yaml"), JSON.stringify(ruleGroups)); // JSON is YAML
    const suite = { rule_files: ["rules.yaml"], evaluation_interval: "1m", tests };
    writeFileSync(join(folder, "tests.yaml"), JSON.stringify(suite));
    await run([await program("promtool"), "check", "rules", join(folder, "rules.yaml")]);
    return await run([await program("promtool"), "test", "rules", join(folder, "tests.yaml")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("fires every alert after its time, and ends it with its cause", async () => {
  assert.ok(alerts.length > 20);
  assert.match(await promtool(alerts.map(testOf)), /SUCCESS/);
});

test("treats a missing controller as a missing leader", async () => {
  const one = alerts.find(({ alert }) => alert === "GlobalPullSecretNoLeader");
  assert.ok(one);
  const { severity, summary, runbook } = one;
  const exp_annotations = { summary, runbook_url: runbook };
  const fires = { exp_labels: { severity }, exp_annotations };
  const series = { series: 'up{job="other"}', values: "1x20" };
  const asked = { eval_time: "10m", alertname: one.alert, exp_alerts: [fires] };
  const suite = { interval: "1m", input_series: [series], alert_rule_test: [asked] };
  assert.match(await promtool([suite]), /SUCCESS/);
});
