/** The alerts of all programs, as one table, and the PrometheusRule of each program. */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import { catalogue as nodeCodes } from "#contract/node-codes.ts";
import { codesPage, anchorOf } from "#contract/help.ts";
import { catalogue } from "#controller/sources/problems.ts";
import type { NodeState } from "#controller/status/gauges.ts";
import { troubles, type TroubleKind, type TroubleReason } from "#controller/status/messages.ts";
import type { Result } from "#tenants/metrics.ts";

/** Programs with metrics: the name of the Deployment without `global-pull-secret-`. */
export const programs = ["controller", "fleet", "sync-management", "sync-tenant"] as const;
export type Program = (typeof programs)[number];

export type Alert = Readonly<{
  alert: string;
  /** The programs whose metrics the alert needs. */
  of: readonly Program[];
  expr: string;
  /**
   * How long the problem lasts before the alert fires: long enough that problems which the product
   * solves by itself wake no person.
   */
  for: string;
  severity: "critical" | "warning";
  summary: string;
  /** The command to run next. It can contain only labels that `expr` keeps. */
  description: string;
  /** Path and anchor below the folder of the docs. */
  runbook: string;
}>;

/** The programs' namespace. A release with role Hosted is in another namespace. */
const namespace = "kube-system";

/**
 * A metric of this installation, selected by the namespace of the scraped pod. Without this
 * selection, the controller of one guest could hide a failure of another guest's controller in the
 * same management cluster.
 */
const metric = (name: string, ...matchers: readonly string[]): string =>
  `global_pull_secret_${name}{${[`namespace="${namespace}"`, ...matchers].join(",")}}`;

const controller = ["controller"] as const;

/** The runbook of a code: its section on the page of codes. */
const codeOf = (kind: keyof typeof catalogue): string => anchorOf(catalogue[kind][0]);
/** The runbook of an alert whose Event can have any of many codes. */
const ofSources = `${codesPage}#pull-secrets`;

/** With role Hosted, the chart replaces "the cluster" by the guest cluster. */
const run = (command: string, then: string): string =>
  `In the cluster, run \`${command}\`. ${then}`;
/** For most alerts: read the condition's message, then act. */
const status = (then: string): string => run("kubectl pull-secret status", then);
/** For a failure that only an Event reports: how to read the Event. */
const eventOf = (reason: TroubleReason, then: string): string =>
  run(`kubectl get events -n kube-system --field-selector reason=${reason}`, then);

type Lasting = readonly [time: string, summary: string, description: string, runbook: string];

/** A lasting failure → time until the alert, summary, description, runbook. */
const lasting: Readonly<Record<TroubleKind, Lasting>> = {
  rejected: [
    "5m",
    "The Secret is refused; its last good entries stay in force",
    status(
      "The first line has the code and the key path. Correct Secret kube-system/additional-pull-secret.",
    ),
    ofSources,
  ],
  originalRejected: [
    "5m",
    "The original is refused; its last good entries stay in force",
    status("The source original has the code and the key path. Correct that Secret."),
    ofSources,
  ],
  sourceRejected: [
    "5m",
    "A source is refused; its last good entries stay in force",
    status(
      "The refused source has the code and the key path. Correct its Secret, or remove it from spec.sources.",
    ),
    ofSources,
  ],
  originalUnknown: [
    "15m",
    "The original cannot be read",
    status("The source original has the error. Its API server does not answer, or refuses us."),
    codeOf("originalUnknown"),
  ],
  denied: [
    "15m",
    "A registry denies a credential that is in force",
    eventOf(
      "CredentialsDenied",
      "The message names the registry or image, and the source. Replace the credential: with it, nodes cannot pull even public images of the registry.",
    ),
    codeOf("denied"),
  ],
  notAllowed: [
    "5m",
    "The policy exceeds a limit of the installer",
    status("The first line names the fields. Change the spec of GlobalPullSecret cluster."),
    codeOf("notAllowed"),
  ],
  unsupported: [
    "5m",
    "Another operator owns the nodes' pull secrets",
    status("Use the global pull secret of OpenShift or HyperShift, and uninstall this product."),
    codeOf("unsupported"),
  ],
  foreign: [
    "5m",
    "A foreign object has one of our names",
    status("The first line names the object. Delete or rename it."),
    codeOf("foreign"),
  ],
  refused: [
    "5m",
    "The API server refuses a request",
    status("The first line quotes the refusal. Allow the request for the controller."),
    codeOf("refused"),
  ],
  contested: [
    "5m",
    "Another client undoes our writes",
    status("The first line names the object, and the client if known. Stop that client."),
    codeOf("contested"),
  ],
  unanswered: [
    "15m",
    "The API server does not answer",
    run(
      "kubectl get --raw '/readyz?verbose'",
      "It shows which part of the API server is not ready.",
    ),
    codeOf("unanswered"),
  ],
  mutated: [
    "15m",
    "Admission changes our objects",
    eventOf(
      "ObjectMutated",
      "The message names the changed fields. Exclude our objects from the policy or webhook that changes them.",
    ),
    codeOf("mutated"),
  ],
  podsRefused: [
    "5m",
    "The agents' pods are not created",
    run(
      "kubectl describe daemonset global-pull-secret-syncer -n kube-system",
      "Its Events quote the refusal. Allow the agents' pods.",
    ),
    codeOf("podsRefused"),
  ],
  halted: [
    "1m",
    "A rollout is halted",
    status(
      "It lists failed and silent nodes with their reasons. Repair them or correct the Secret, then run `kubectl pull-secret retry`.",
    ),
    codeOf("halted"),
  ],
  unguarded: [
    "5m",
    "The admission policy of the agents' reports is missing",
    run(
      "kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings global-pull-secret-nodes",
      "Install the manifests again.",
    ),
    codeOf("unguarded"),
  ],
  flapping: [
    "15m",
    "The Secrets change too often",
    eventOf(
      "SourceFlapping",
      "The message names the Secrets and the programs that write them. Stop one of them.",
    ),
    codeOf("flapping"),
  ],
  failed: [
    "15m",
    "A revision failed on nodes",
    status(
      "It lists failed nodes with their reasons. Repair them, then run `kubectl pull-secret retry`.",
    ),
    codeOf("failed"),
  ],
  unserved: [
    "5m",
    "No node can be served",
    status("It lists nodes with their reasons. Repair one of them, or its agent."),
    codeOf("unserved"),
  ],
  overdue: [
    "5m",
    "A withdrawal makes no progress",
    status("The first line names what the withdrawal waits for. Repair or delete it."),
    codeOf("overdue"),
  ],
  awaited: [
    "1h",
    "A withdrawal waits for nodes that are away",
    status("It names the nodes. Wait until they return, or delete them."),
    codeOf("awaited"),
  ],
  leftBehind: [
    "1h",
    "Nodes may keep withdrawn entries",
    status("It names the nodes. Remove the entries there, then delete their NodePullSecrets."),
    anchorOf(nodeCodes.leftBehind[0]),
  ],
};

const ofTroubles = Object.entries(lasting).map(([kind, row]): Alert => {
  const [time, summary, description, runbook] = row;
  const { event, condition } = troubles[kind as TroubleKind];
  return {
    alert: `GlobalPullSecret${event}`,
    of: controller,
    expr: `max(${metric("trouble", `reason="${event}"`)}) == 1`,
    for: time,
    severity: condition === "Stalled" ? "critical" : "warning",
    summary,
    description,
    runbook,
  };
});

// The type ensures that these states exist, because an alert for a state that no program sets would
// never fire.
const leftOut: readonly NodeState[] = [
  "Failed",
  "Silent",
  "Unfit",
  "Unreachable",
  "AgentStarting",
  "NoAgentPod",
];
const fleetClusters = (state: ClusterStatus["state"]): string =>
  `max by (object, state) (${metric("fleet_clusters", `state="${state}"`)}) > 0`;
const ofFleet = (then: string): string =>
  run(
    "kubectl pull-secret fleet status",
    `It lists the clusters of {{ $labels.object }}; look for {{ $labels.state }}. ${then}`,
  );
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
    description:
      "Run `kubectl get pods -n kube-system -l app.kubernetes.io/name=global-pull-secret-controller`. If the pods run, read `kubectl logs -n kube-system deploy/global-pull-secret-controller`.",
    runbook: "docs/use/troubleshoot.md#the-controller-does-not-start-or-has-no-leader",
  },
  {
    alert: "GlobalPullSecretRolloutSlow",
    of: controller,
    expr: `max(${metric("rolled_out")}) == 0`,
    for: "2h",
    severity: "warning",
    summary: "A rollout takes more than two hours",
    description: run(
      "kubectl pull-secret nodes --waiting",
      "It shows the nodes that the rollout waits for. With a higher spec.rollout.maxUnavailable more nodes change at once.",
    ),
    runbook: "docs/use/troubleshoot.md#the-secret-is-there-but-nothing-happens",
  },
  {
    alert: "GlobalPullSecretNodesLeftOut",
    of: controller,
    expr: `max by (state) (${metric("nodes", `state=~"${leftOut.join("|")}"`)}) > 0`,
    for: "30m",
    severity: "warning",
    summary: "Nodes do not get the credential",
    description: status(
      "It lists nodes with their reasons. The state of these nodes is {{ $labels.state }}.",
    ),
    runbook: "docs/use/troubleshoot.md#one-node-does-not-get-the-credential",
  },
  {
    alert: "GlobalPullSecretCredentialExpires",
    of: controller,
    expr: `min by (source) (${metric("credential_expiry_timestamp_seconds")}) - time() < 900`,
    for: "1m",
    severity: "critical",
    summary: "A credential expires within 15 minutes, or has expired",
    description: status(
      "It shows when the credentials of the source {{ $labels.source }} expire. Renew them where its Secret comes from, or with `kubectl pull-secret add REGISTRY -u USER --password-stdin`.",
    ),
    runbook: "docs/recipes/registries.md#short-lived-tokens",
  },
  {
    alert: "GlobalPullSecretTenantTokenExpires",
    of: ["sync-tenant"],
    expr: `min(${metric("sync_token_expiry_timestamp_seconds")} > 0) - time() < 21600`,
    for: "15m",
    severity: "warning",
    summary: "The token of a tenant's side expires within six hours",
    description:
      "Apply the output of `kubectl pull-secret fleet tenant NAMESPACE` to the management cluster again, or renew the kubeconfig in Secret kube-system/global-pull-secret-sync-management.",
    runbook: anchorOf("GPS477"),
  },
  {
    alert: "GlobalPullSecretFleetClusterAway",
    of: ["fleet"],
    expr: fleetClusters("Unreachable"),
    for: "30m",
    severity: "warning",
    summary: "A cluster of the fleet cannot be reached",
    description: ofFleet(
      "If a cluster stays away, correct the server in its kubeconfig, or open the network to it.",
    ),
    runbook: anchorOf("GPS438"),
  },
  {
    alert: "GlobalPullSecretFleetClusterFailed",
    of: ["fleet"],
    expr: fleetClusters("Failed"),
    for: "15m",
    severity: "warning",
    summary: "A cluster of the fleet does not take the Secret",
    description: ofFleet("Each failed cluster has a code and what to do."),
    runbook: `${codesPage}#fleet`,
  },
  {
    alert: "GlobalPullSecretFleetClusterWaits",
    of: ["fleet"],
    expr: fleetClusters("Waiting"),
    for: "2h",
    severity: "warning",
    summary: "A cluster of the fleet does not get or use the Secret",
    description: ofFleet("A cluster that waits for a person has a code and what to do."),
    runbook: `${codesPage}#fleet`,
  },
  {
    alert: "GlobalPullSecretSyncAway",
    of: ["sync-management", "sync-tenant"],
    expr: `time() - max by (exported_namespace) (${metric("sync_last_success_timestamp_seconds")}) > 300`,
    for: "10m",
    severity: "warning",
    summary: "A tenant's SyncSecrets have not been compared for 15 minutes",
    description: run(
      "kubectl get syncsecrets -A -o custom-columns='NAME:.metadata.name,MESSAGE:.status.conditions[?(@.type==\"Ready\")].message'",
      "The message has a code, such as GPS467 or GPS481, and what to do. The alert's namespace {{ $labels.exported_namespace }} is in the management cluster.",
    ),
    runbook: `${codesPage}#syncsecrets`,
  },
  {
    alert: "GlobalPullSecretSyncErrors",
    of: ["sync-management", "sync-tenant"],
    expr: `sum by (exported_namespace) (increase(${ofSyncs("error")}[15m])) > 0`,
    for: "15m",
    severity: "warning",
    summary: "SyncSecrets are not copied",
    description: run(
      `kubectl get syncsecrets -n {{ $labels.exported_namespace }} -o custom-columns='NAME:.metadata.name,MESSAGE:.status.conditions[?(@.type=="Ready")].message'`,
      "The message of a SyncSecret that is not Ready has a code and what to do.",
    ),
    runbook: `${codesPage}#syncsecrets`,
  },
];

export const ruleGroupsOf = (program: Program) => ({
  groups: [
    {
      name: "global-pull-secret",
      rules: alerts
        .filter(({ of }) => of.includes(program))
        .map(({ alert, expr, severity, summary, description, runbook, for: time }) => ({
          alert,
          expr,
          for: time,
          // Sets the label `namespace`, because an aggregation drops this label, and because
          // without a leader no series has it.
          labels: { severity, namespace },
          annotations: { summary, description, runbook_url: runbook },
        })),
    },
  ],
});
