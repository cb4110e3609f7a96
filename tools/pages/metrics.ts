/** docs/metrics.md: metrics, and what lasts. */
import { troubles } from "#controller/status/troubles.ts";
import { table, type Row } from "./markdown.ts";

/** The page of metrics, and of the Events and conditions of what lasts. */
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
    ["a rollout is under way", "N", "0", "1 or 0", "of the DaemonSet", "as last looked at"],
    ["a rollout is out", "N", "1", "1 or 0", "of the DaemonSet", "as last looked at"],
    [
      "nodes give back, or are waited for",
      "N",
      "absent",
      "absent",
      "of the DaemonSet",
      "as last looked at",
    ],
    ["objects are deleted", "N", "absent", "absent", "absent", "absent"],
  ],
)}

\`source_accepted{source}\` is there for \`additional\` while the Secret is, for \`original\` while one is asked for. \`nodes_desired\`, \`nodes_updated\` and
\`nodes_available\` are the DaemonSet's own totals; \`nodes{state}\` are parts, whose sum is every node. Besides: \`reconcile_total{namespace,result}\`,
\`reconcile_duration_seconds{namespace}\`, \`last_success_timestamp_seconds\`, \`api_requests_total{method,status}\`, \`events_total{reason}\`, \`events_dropped_total\`,
\`build_info{version}\`, and \`leader\`, 1 in the controller that holds the Lease.

## What lasts

For as long as it lasts \`trouble{reason}\` is 1, GlobalPullSecret's status has it ([what that says](status.md)), and the Event (Warning, on
\`additional-pull-secret\`) is repeated every half hour ([why](decisions/0024-whatever-lasts-is-told.md)).

${table(["Event, `reason`", "condition", "its reason"], rows)}

One alert is enough to begin with: \`global_pull_secret_trouble == 1\` for 15 minutes.

## Of the other programs

At \`:8080/metrics\` of each, with the same prefix.

${table(
  ["program", "metric", "what it tells"],
  [
    [
      "[fleet](fleet.md)",
      "`fleet_clusters{state}`",
      "clusters of all FleetSecrets; the states are those of status. Worth an alert: `Failed` above 0",
    ],
    [
      "[SyncSecret](syncsecret.md#metrics), each side",
      "`sync_secret_reconcile_total{namespace,result}`",
      "`success`, `conflict` or `error`. Worth an alert: `error` growing for 15 minutes",
    ],
    ["", "`sync_secret_reconcile_duration_seconds{namespace}`", "failed ones included"],
  ],
)}
`;
}
