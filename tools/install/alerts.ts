/** The alerts of all programs, as one table, and the PrometheusRule of each program. */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import { codesPage, helpOf } from "#contract/help.ts";
import type { NodeState } from "#controller/rollout/facts.ts";
import { catalogue } from "#controller/sources/problems.ts";
import { troubles, type TroubleKind } from "#controller/status/troubles.ts";
import type { Result } from "#tenants/metrics.ts";

/** Those that have metrics, by the name of their Deployment without `global-pull-secret-`. */
export const programs = ["controller", "fleet", "sync-management", "sync-tenant"] as const;
export type Program = (typeof programs)[number];

export type Alert = Readonly<{
  alert: string;
  /** The programs whose metrics it needs. */
  of: readonly Program[];
  expr: string;
  /** How long it must last: what the product ends by itself must not wake a person. */
  for: string;
  severity: "critical" | "warning";
  summary: string;
  /** Path and anchor below the folder of the docs. */
  runbook: string;
}>;

/** The programs' namespace; a release with role Hosted has another one. */
const namespace = "kube-system";

/**
 * A metric of this installation. The namespace is the one of the scraped pod: without it, the
 * controllers of several guests in one management cluster would hide each other's failures.
 */
const metric = (name: string, ...matchers: readonly string[]): string =>
  `global_pull_secret_${name}{${[`namespace="${namespace}"`, ...matchers].join(",")}}`;

const controller = ["controller"] as const;

/** Anchor of a code, as a runbook. */
const codeOf = (kind: keyof typeof catalogue): string => helpOf(catalogue[kind][0]);
/** The Event has one of many codes. */
const ofSources = `${codesPage}#pull-secrets`;

/** What lasts → how long it may, what is wrong, where the page about it is. */
const lasting: Readonly<Record<TroubleKind, readonly [string, string, string]>> = {
  rejected: ["5m", "The Secret is refused; its last good entries stay in force", ofSources],
  originalRejected: [
    "5m",
    "The original is refused; its last good entries stay in force",
    ofSources,
  ],
  sourceRejected: ["5m", "A source is refused; its last good entries stay in force", ofSources],
  originalUnknown: ["15m", "The original cannot be read", codeOf("originalUnknown")],
  notAllowed: ["5m", "The policy asks for more than the installer allows", codeOf("notAllowed")],
  unsupported: ["5m", "Another operator owns the nodes' pull secrets", codeOf("unsupported")],
  foreign: ["5m", "A foreign object has one of our names", codeOf("foreign")],
  refused: ["5m", "The API server refuses a request", codeOf("refused")],
  contested: ["5m", "Another client undoes our writes", codeOf("contested")],
  unanswered: ["15m", "The API server does not answer", codeOf("unanswered")],
  mutated: ["15m", "Admission changes our objects", codeOf("mutated")],
  podsRefused: ["5m", "The agents' pods are not created", codeOf("podsRefused")],
  unsearched: [
    "1h",
    "Nodes are not searched for files that config.json would hide",
    codeOf("unsearched"),
  ],
  halted: ["1m", "A rollout is halted", codeOf("halted")],
  failed: ["15m", "A revision failed on nodes", codeOf("failed")],
  upgradeRefused: ["15m", "Older agents' pods cannot be replaced", codeOf("upgradeRefused")],
  unserved: ["5m", "No node can be served", codeOf("unserved")],
  overdue: ["5m", "A withdrawal makes no progress", codeOf("overdue")],
  awaited: ["1h", "A withdrawal waits for nodes that are away", codeOf("awaited")],
};

const ofTroubles = Object.entries(lasting).map(([kind, [time, summary, runbook]]): Alert => {
  const { event, condition } = troubles[kind as TroubleKind];
  return {
    alert: `GlobalPullSecret${event}`,
    of: controller,
    expr: `max(${metric("trouble", `reason="${event}"`)}) == 1`,
    for: time,
    severity: condition === "Stalled" ? "critical" : "warning",
    summary,
    runbook,
  };
});

// Typed, because an alert on a value that no program sets never fires.
const leftOut: readonly NodeState[] = ["failed", "excused"];
const fleetClusters = (state: ClusterStatus["state"]): string =>
  `max(${metric("fleet_clusters", `state="${state}"`)}) > 0`;
const ofSyncs = (result: Result): string =>
  metric("sync_secret_reconcile_total", `result="${result}"`);

export const alerts: readonly Alert[] = [
  ...ofTroubles,
  {
    alert: "GlobalPullSecretNoLeader",
    of: controller,
    expr: `(sum(${metric("leader")}) or vector(0)) < 1`,
    for: "5m",
    severity: "critical",
    summary: "No controller works. Nodes keep what they have",
    runbook: "docs/use/troubleshoot.md#the-controller-does-not-start-or-has-no-leader",
  },
  {
    alert: "GlobalPullSecretRolloutSlow",
    of: controller,
    expr: `max(${metric("rolled_out")}) == 0`,
    for: "2h",
    severity: "warning",
    summary: "A rollout takes more than two hours",
    runbook: "docs/use/troubleshoot.md#the-secret-is-there-but-nothing-happens",
  },
  {
    alert: "GlobalPullSecretNodesLeftOut",
    of: controller,
    expr: `sum(max by (state) (${metric("nodes", `state=~"${leftOut.join("|")}"`)})) > 0`,
    for: "30m",
    severity: "warning",
    summary: "Nodes do not get the credential",
    runbook: "docs/use/troubleshoot.md#one-node-does-not-get-the-credential",
  },
  {
    alert: "GlobalPullSecretCredentialExpires",
    of: controller,
    expr: `min(${metric("credential_expiry_timestamp_seconds")}) - time() < 900`,
    for: "1m",
    severity: "critical",
    summary: "A credential ends within 15 minutes, or has ended",
    runbook: "docs/recipes/registries.md#short-lived-tokens",
  },
  {
    alert: "GlobalPullSecretTenantTokenExpires",
    of: ["sync-tenant"],
    expr: `min(${metric("sync_token_expiry_timestamp_seconds")} > 0) - time() < 21600`,
    for: "15m",
    severity: "warning",
    summary: "The token of a tenant's side ends within six hours",
    runbook: "docs/extend/tenants.md#metrics",
  },
  {
    alert: "GlobalPullSecretFleetClusterAway",
    of: ["fleet"],
    expr: fleetClusters("Unreachable"),
    for: "30m",
    severity: "warning",
    summary: "A cluster of the fleet cannot be reached",
    runbook: helpOf("GPS438"),
  },
  {
    alert: "GlobalPullSecretFleetClusterFailed",
    of: ["fleet"],
    expr: fleetClusters("Failed"),
    for: "15m",
    severity: "warning",
    summary: "A cluster of the fleet does not take the Secret",
    runbook: `${codesPage}#fleet`,
  },
  {
    alert: "GlobalPullSecretSyncErrors",
    of: ["sync-management", "sync-tenant"],
    expr: `sum(increase(${ofSyncs("error")}[15m])) > 0`,
    for: "15m",
    severity: "warning",
    summary: "SyncSecrets are not copied",
    runbook: `${codesPage}#syncsecrets`,
  },
];

/** A program's alerts as Prometheus reads them. */
export const ruleGroupsOf = (program: Program) => ({
  groups: [
    {
      name: "global-pull-secret",
      rules: alerts
        .filter(({ of }) => of.includes(program))
        .map(({ alert, expr, severity, summary, runbook, for: time }) => ({
          alert,
          expr,
          for: time,
          // Aggregations drop it, and a missing leader has no series that has it.
          labels: { severity, namespace },
          annotations: { summary, runbook_url: runbook },
        })),
    },
  ],
});
