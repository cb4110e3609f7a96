/** docs/metrics.md: metrics, and what lasts. */
import type { Fate } from "#controller/grants/decision.ts";
import { troubles } from "#controller/status/troubles.ts";
import { alerts } from "#tools/install/alerts.ts";
import { table, type Row } from "./markdown.ts";

const states: Readonly<Record<Fate, string>> = {
  current: "has proved the revision",
  changing: "is granted the revision and has not proved it, or its grant is being withdrawn",
  waiting: "will be granted the revision",
  starting: "its agent is starting",
  failed: "the revision failed there, took too long, or the node went away while it changed",
  excused:
    "cannot be served, so no rollout waits for it: away, not started, not Ready, unfit, or its grant is refused by admission",
};

/** The page of metrics, and of the Events and conditions of lasting problems. */
export function metricsPage(): string {
  const rows = Object.values(troubles).map(({ event, condition, reason }): Row => [
    event,
    condition ?? "",
    condition === undefined ? "" : reason,
  ]);
  return `# Metrics, conditions, Events

At \`:8080/metrics\` of the controller, each name with \`global_pull_secret_\` before it. A series that has nothing to speak of is absent.

${table(
  [
    "state",
    "`revision`",
    "`rolled_out`",
    "`source_accepted`",
    "`nodes_desired` …",
    "`nodes{state}`",
  ],
  [
    ["nothing is declared, nothing is there", "0", "absent", "absent", "absent", "absent"],
    [
      "a Secret is refused that was never in force",
      "as before, 0",
      "absent",
      "0",
      "absent",
      "absent",
    ],
    ["a rollout is under way", "N", "0", "1 or 0", "there", "there"],
    ["a rollout is out", "N", "1", "1 or 0", "there", "there"],
    ["nodes remove entries, or are waited for", "N", "absent", "absent", "there", "there"],
    ["objects are deleted", "N", "absent", "absent", "absent", "absent"],
  ],
)}

\`source_accepted{source}\` is there for \`additional\` while the Secret is, for \`original\` while one is asked for. \`credential_expiry_timestamp_seconds{source}\` is there if a credential of the source contains its end: a JWT, or a token of Amazon ECR. \`nodes_desired\` and
\`nodes_available\` are the DaemonSet's own totals; \`nodes_updated\` counts nodes that have proved the revision. Besides: \`reconcile_total{namespace,result}\`,
\`reconcile_duration_seconds{namespace}\`, \`last_success_timestamp_seconds\`, \`api_requests_total{method,status}\`, \`events_total{reason}\`, \`events_dropped_total\`,
\`build_info{version}\`, and \`leader\`, 1 in the controller that holds the Lease.

## Nodes by state

\`nodes{state}\` counts the agents' pods by what became of the published revision on their nodes. All six states are there once the pods have been read.

${table(
  ["state", "meaning"],
  Object.entries(states).map(([state, meaning]): Row => [state, meaning]),
)}

## What lasts

For as long as it lasts \`trouble{reason}\` is 1, GlobalPullSecret's status has it ([what that says](status.md)), and the Event (Warning, on
\`additional-pull-secret\`) is repeated every half hour ([why](decisions/0024-whatever-lasts-is-told.md)).

${table(["Event, `reason`", "condition", "its reason"], rows)}

## Alerts and a dashboard

The component \`manifests/components/monitoring\` (chart: \`monitoring.enabled\`) adds a metrics Service, a PodMonitor, a PrometheusRule and a Grafana dashboard as a ConfigMap with the label \`grafana_dashboard\`. It needs the CRDs of the Prometheus operator. Each alert has a \`runbook_url\`. It begins with \`docs/\`; set the chart's value \`monitoring.docs\` to the address where you serve these pages. Tests run every alert with Debian's promtool. A real Prometheus sees a rollout, a halt and a stopped controller fire their alerts and end them. The operator itself and Grafana are not run here.

If your Prometheus has no operator, it finds the Service by its \`prometheus.io/scrape\` annotation. Copy \`spec.groups\` of the PrometheusRule into a rule file.

${table(
  ["alert", "after", "severity", "meaning"],
  alerts.map(({ alert, for: time, severity, summary, runbook }): Row => [
    `\`${alert}\``,
    time,
    severity,
    `[${summary}](${runbook.replace("docs/", "")})`,
  ]),
)}

## Of the other programs

At \`:8080/metrics\` of each, with the same prefix.

${table(
  ["program", "metric", "what it shows"],
  [
    [
      "[fleet](fleet.md)",
      "`fleet_clusters{object,state}`",
      "clusters of each FleetSecret; the states are those of status, and `GivenUp`. Worth an alert: `Failed` above 0",
    ],
    [
      "[SyncSecret](syncsecret.md#metrics), each side",
      "`sync_secret_reconcile_total{namespace,result}`",
      "`success`, `conflict` or `error`. Worth an alert: `error` growing for 15 minutes",
    ],
    ["", "`sync_secret_reconcile_duration_seconds{namespace}`", "failed ones included"],
    ["", "`sync_left_behind_total{namespace}`", "deletions that a deadline ended"],
    [
      "SyncSecret, the tenant's side",
      "`sync_token_expiry_timestamp_seconds`",
      "when its token ends; 0 if unknown. Worth an alert: less than six hours away",
    ],
  ],
)}
`;
}
