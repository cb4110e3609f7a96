/** docs/reference/metrics.md: metrics and alerts. */
import { alerts } from "#tools/install/alerts.ts";
import { table, type Row } from "./markdown.ts";

/** The page of metrics, alerts and the dashboard. */
export function metricsPage(): string {
  return `# Metrics and alerts

After this page you can scrape the programs and alert on what matters. All programs serve metrics at \`:8080/metrics\`, each name with the prefix \`global_pull_secret_\`. A series is absent while its subject does not exist:

${table(
  ["state", "`revision`", "`rolled_out`", "`source_accepted`", "`nodes{state}`"],
  [
    ["nothing is declared or deployed", "0", "absent", "absent", "absent"],
    ["a Secret is refused and was never in force", "as before, 0", "absent", "0", "absent"],
    ["a rollout is under way", "N", "0", "1 or 0", "present"],
    ["the revision is in force", "N", "1", "1 or 0", "present"],
    ["a withdrawal is under way", "N", "absent", "absent", "present"],
    ["objects are deleted", "N", "absent", "absent", "absent"],
  ],
)}

\`source_accepted{source}\` exists for \`additional-pull-secret\` while the Secret exists, for each Secret of \`spec.sources\`, and for \`original\` if one is configured. \`credential_expiry_timestamp_seconds{source}\` exists if a credential of the source has an expiry: a JWT, or a token of Amazon ECR. \`registries{answer}\` counts the registries by their last answer about the credential. Other metrics: \`reconcile_total{result}\`,
\`reconcile_duration_seconds\`, \`last_success_timestamp_seconds\`, \`api_requests_total{method,status}\`, \`events_total{reason}\`, \`events_dropped_total\`,
\`build_info{version}\`, and \`leader\`, 1 in the controller that holds the Lease.

## Nodes by state

\`nodes{state}\` counts each node once: as \`Updated\`, if its agent reported that the revision is in force or removed, or by [the reason why it waits](reasons.md#why-a-node-waits). All states exist once the nodes have been read.

## Lasting failures

While [a failure lasts](reasons.md#lasting-failures), \`trouble{reason}\` is 1. \`reason\` is the reason of its Event.

## Alerts and a dashboard

The chart's value \`monitoring.enabled=true\` installs, with each role, the PodMonitor and PrometheusRule of its program. They need the CRDs of the Prometheus operator. With role Cluster, it also installs a metrics Service, and a Grafana dashboard as a ConfigMap with the label \`grafana_dashboard\`. With kustomize, [render them](../use/install.md#kustomize) for each role.

Prometheus selects both objects **by labels**. kube-prometheus-stack requires the label \`release\` with the name of its release. Show the selectors of your Prometheus (\`{}\` selects all):

\`\`\`sh
kubectl get prometheus -A -o jsonpath='{range .items[*]}{.metadata.name}{" "}{.spec.podMonitorSelector}{" "}{.spec.ruleSelector}{"\\n"}{end}'
\`\`\`

Set such a label with \`--set monitoring.labels.release=prometheus\`.

To **check** that Prometheus has both objects, run these commands, with the namespace of your Prometheus instead of \`monitoring\`. If a command prints no line after a minute, a label or a namespace (\`podMonitorNamespaceSelector\`, \`ruleNamespaceSelector\`) is not selected.

\`\`\`sh
PROMETHEUS=/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy/api/v1
kubectl get --raw $PROMETHEUS/targets | grep -o 'podMonitor/[a-z0-9-]*/global-pull-secret[a-z-]*' | sort -u
kubectl get --raw $PROMETHEUS/rules | grep -o '"GlobalPullSecret[A-Za-z]*"' | sort -u
\`\`\`

Evaluate the alerts **in each cluster**: in a central ruler, the leader of one cluster would hide a missing leader of another. Each alert has a \`description\` with the command to run next, and, if you set \`monitoring.docs\` to the address of these pages, a \`runbook_url\`.

A Prometheus without an operator finds the Service by its \`prometheus.io/scrape\` annotation. Copy \`spec.groups\` of the PrometheusRule into a rule file. The expressions need the pod's namespace in the label \`namespace\` of each series.

${table(
  ["alert", "after", "severity", "meaning"],
  alerts.map(({ alert, for: time, severity, summary, runbook }): Row => [
    `\`${alert}\``,
    time,
    severity,
    `[${summary}](${runbook.replace(/^docs\/(reference\/)?/, (_, here?: string) => (here ? "" : "../"))})`,
  ]),
)}

## The other programs

${table(
  ["program", "metric", "meaning"],
  [
    [
      "[fleet](../extend/fleet.md)",
      "`fleet_clusters{object,state}`",
      "clusters, by the states of status, and `GivenUp`",
    ],
    [
      "[SyncSecret](../extend/tenants.md#metrics), each side",
      "`sync_secret_reconcile_total{namespace,result}`",
      "`success`, `conflict` or `error`",
    ],
    ["", "`sync_secret_reconcile_duration_seconds{namespace}`", "includes failed reconciles"],
    ["", "`sync_left_behind_total{namespace}`", "deletions that ended at their deadline"],
    [
      "",
      "`sync_left_out_total{namespace,excess}`",
      "objects, or parts of a collection, that are too large, too many or too fast (GPS482 to GPS484)",
    ],
    ["", "`sync_runs_total{namespace,result}`", "runs over all SyncSecrets of a tenant"],
    ["", "`sync_last_success_timestamp_seconds{namespace}`", "when a run last read both clusters"],
    [
      "SyncSecret, the tenant's side",
      "`sync_token_expiry_timestamp_seconds`",
      "when its token ends; 0 if unknown",
    ],
  ],
)}
`;
}
