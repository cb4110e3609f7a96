/** The generated parts of the chart's monitoring: the alerts, and the controller's dashboard. */
import { alerts } from "./alerts.ts";

type Panel = Readonly<{
  title: string;
  /** What a reader learns from the panel. */
  description: string;
  expr: string;
  /** The value that `expr` should reach. */
  goal?: string;
  unit?: string;
  /** The first value that is bad: above the others, or below them if `isLeast`. */
  bad?: number;
  isLeast?: boolean;
}>;

/**
 * The dashboard's panels, two in a row. Panels about nodes show the maximum, because the standby
 * reports no nodes.
 */
export const panels: readonly Panel[] = [
  {
    title: "Nodes that have the revision",
    description: "The second line is the number to reach.",
    expr: 'sum(max by (cluster) (global_pull_secret_nodes{state="Updated"}))',
    goal: "sum(max by (cluster, state) (global_pull_secret_nodes))",
  },
  {
    title: "Nodes by state",
    description: "kubectl pull-secret nodes shows why a node waits.",
    expr: "max by (state) (global_pull_secret_nodes)",
  },
  {
    title: "Revision",
    description: "Each new content of the pull secret has a higher number.",
    expr: "max(global_pull_secret_revision)",
    unit: "none",
  },
  {
    title: "Lasting failures",
    description: "1 while a failure lasts. The Event with this reason explains it.",
    expr: "max by (reason) (global_pull_secret_trouble)",
    bad: 1,
  },
  {
    title: "Requests to the API server",
    description: "Status 0 means that no answer came.",
    expr: "sum by (method, status) (rate(global_pull_secret_api_requests_total[5m]))",
    unit: "reqps",
  },
  {
    title: "Reconciles by result",
    description: "The controller's rounds in a second.",
    expr: "sum by (result) (rate(global_pull_secret_reconcile_total[5m]))",
    unit: "ops",
  },
  {
    title: "Controllers that lead",
    description: "Exactly 1. With 0 nothing changes on any node.",
    expr: "sum(global_pull_secret_leader)",
    bad: 1,
    isLeast: true,
  },
  {
    title: "Memory",
    description: "Resident memory of each controller's pod. The chart's limit is 256 MiB.",
    expr: "sum by (pod) (process_resident_memory_bytes)",
    unit: "bytes",
    bad: 256 * 1024 * 1024,
  },
];

/** The expression for the chosen cluster. Without a label `cluster`, every series is chosen. */
const chosen = (expr: string): string =>
  expr.replaceAll(
    /((?:global_pull_secret|process)_\w+)(?:\{([^}]*)\})?/g,
    (_, metric: string, labels?: string) =>
      `${metric}{${[labels, 'cluster=~"$cluster"'].filter(Boolean).join(",")}}`,
  );

const [green, red] = ["green", "red"];

function thresholdsOf({ bad, isLeast = false }: Panel) {
  const colours = isLeast ? [red, green] : [green, red];
  const steps = [
    { color: bad === undefined ? green : colours[0], value: null },
    ...(bad === undefined ? [] : [{ color: colours[1], value: bad }]),
  ];
  return { mode: "absolute", steps };
}

const datasource = { type: "prometheus", uid: "$datasource" };

function dashboard() {
  return {
    uid: "global-pull-secret",
    title: "Global Pull Secret",
    tags: ["global-pull-secret"],
    schemaVersion: 39,
    time: { from: "now-6h", to: "now" },
    refresh: "30s",
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus" },
        {
          name: "cluster",
          type: "query",
          datasource,
          query: "label_values(global_pull_secret_leader, cluster)",
          includeAll: true,
          allValue: ".*",
          current: { text: "All", value: "$__all" },
        },
      ],
    },
    panels: panels.map((panel, at) => ({
      id: at + 1,
      type: "timeseries",
      title: panel.title,
      description: panel.description,
      gridPos: { h: 8, w: 12, x: (at % 2) * 12, y: Math.floor(at / 2) * 8 },
      datasource,
      fieldConfig: {
        defaults: {
          unit: panel.unit ?? "short",
          min: 0,
          thresholds: thresholdsOf(panel),
          custom: { thresholdsStyle: { mode: panel.bad === undefined ? "off" : "line" } },
        },
        overrides: [],
      },
      options: { legend: { displayMode: "list", placement: "bottom", showLegend: true } },
      targets: [
        { refId: "A", expr: chosen(panel.expr) },
        ...(panel.goal === undefined
          ? []
          : [{ refId: "B", expr: chosen(panel.goal), legendFormat: "to reach" }]),
      ],
    })),
  };
}

/** File → its text. The chart's template monitoring.yaml reads both files. */
export const monitoringFiles = (): Readonly<Record<string, string>> => ({
  "manifests/chart/files/alerts.json": json(alerts),
  "manifests/chart/files/dashboard.json": json(dashboard()),
});

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
