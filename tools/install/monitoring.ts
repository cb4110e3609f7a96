/**
 * The generated monitoring components, one for each program: PodMonitor and PrometheusRule, and for
 * the controller a dashboard. Each program has its own component, because the alert for a missing
 * leader would always fire in a cluster without that program.
 */
import { dump } from "js-yaml";
import { programs, ruleGroupsOf, type Program } from "./alerts.ts";

const written = "# Written from tools/install/ by npm run docs.\n";

type Panel = Readonly<{ title: string; expr: string; unit?: string }>;

/**
 * The dashboard's panels, two in a row. Panels about nodes show the maximum, because the standby
 * reports no nodes.
 */
export const panels: readonly Panel[] = [
  { title: "Nodes by state", expr: "max by (state) (global_pull_secret_nodes)" },
  { title: "Nodes that have the revision", expr: "max(global_pull_secret_nodes_updated)" },
  { title: "Revision", expr: "max(global_pull_secret_revision)" },
  { title: "Lasting failures", expr: "max by (reason) (global_pull_secret_trouble)" },
  {
    title: "Requests to the API server",
    expr: "sum by (method, status) (rate(global_pull_secret_api_requests_total[5m]))",
    unit: "reqps",
  },
  {
    title: "Reconciles by result",
    expr: "sum by (result) (rate(global_pull_secret_reconcile_total[5m]))",
    unit: "ops",
  },
  { title: "Controllers that lead", expr: "sum(global_pull_secret_leader)" },
  { title: "Memory", expr: "sum by (pod) (process_resident_memory_bytes)", unit: "bytes" },
];

function dashboard() {
  return {
    uid: "global-pull-secret",
    title: "Global Pull Secret",
    tags: ["global-pull-secret"],
    schemaVersion: 39,
    time: { from: "now-6h", to: "now" },
    refresh: "30s",
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus" }] },
    panels: panels.map(({ title, expr, unit = "short" }, at) => ({
      id: at + 1,
      type: "timeseries",
      title,
      gridPos: { h: 8, w: 12, x: (at % 2) * 12, y: Math.floor(at / 2) * 8 },
      datasource: { type: "prometheus", uid: "$datasource" },
      fieldConfig: { defaults: { unit }, overrides: [] },
      targets: [{ refId: "A", expr }],
    })),
  };
}

/** Folder of a program's component, below manifests/. */
export const componentOf = (program: Program): string =>
  program === "controller" ? "components/monitoring" : `components/monitoring-${program}`;

const namespace = "kube-system";
const prometheus = (kind: string, program: Program, spec: object): string =>
  yaml({
    apiVersion: "monitoring.coreos.com/v1",
    kind,
    metadata: {
      // Each program's objects have their own name, because one cluster can run several programs.
      name: program === "controller" ? "global-pull-secret" : `global-pull-secret-${program}`,
      namespace,
    },
    spec,
  });

function partsOf(program: Program): Readonly<Record<string, string>> {
  const folder = `manifests/${componentOf(program)}`;
  const selector = { matchLabels: { "app.kubernetes.io/name": `global-pull-secret-${program}` } };
  return {
    [`${folder}/podmonitor.yaml`]: prometheus("PodMonitor", program, {
      selector,
      podMetricsEndpoints: [{ port: "metrics" }],
    }),
    [`${folder}/prometheusrule.yaml`]: prometheus("PrometheusRule", program, ruleGroupsOf(program)),
  };
}

/** File of manifests/ → its text. */
export function monitoringParts(): Readonly<Record<string, string>> {
  return {
    ...Object.assign({}, ...programs.map(partsOf)),
    [`manifests/${componentOf("controller")}/dashboard.yaml`]: yaml({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "global-pull-secret-dashboard",
        namespace,
        // Grafana's sidecar selects this label.
        labels: { grafana_dashboard: "1" },
      },
      data: { "global-pull-secret.json": `${JSON.stringify(dashboard(), null, 2)}\n` },
    }),
  };
}

const yaml = (object: object): string =>
  written + dump(object, { lineWidth: -1, noRefs: true, quoteStyle: "double" });
