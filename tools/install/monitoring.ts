/** The generated parts of the chart's monitoring: the alerts, and the controller's dashboard. */
import { alerts } from "./alerts.ts";

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

/** File → its text. The chart's template monitoring.yaml reads both files. */
export const monitoringFiles = (): Readonly<Record<string, string>> => ({
  "manifests/chart/files/alerts.json": json(alerts),
  "manifests/chart/files/dashboard.json": json(dashboard()),
});

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
