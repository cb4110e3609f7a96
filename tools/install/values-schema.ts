/**
 * The chart's values.schema.json, with which helm checks values, and whose descriptions people
 * read.
 */
import { load } from "js-yaml";
import { flags } from "#controller/policy/flags.ts";
import type { Flag } from "#contract/table.ts";
import { alerts } from "./alerts.ts";
import { flagSchema, namePattern } from "./flag-schema.ts";
import { policySchema } from "./policy-schema.ts";
import { describedValues } from "./values-yaml.ts";
import { textOf } from "./yaml.ts";

export const roles = ["Cluster", "Hosted", "Fleet", "SyncManagement", "SyncTenant"] as const;

export type Role = (typeof roles)[number];

/**
 * Value → the roles that use it. All roles use the values that are not in this table. The chart
 * refuses a value that the release's role does not use.
 */
export const usedBy: Readonly<Record<string, readonly Role[]>> = {
  crds: ["Fleet", "SyncManagement", "SyncTenant"],
  policy: ["Cluster"],
  original: ["Cluster"],
  extraSources: ["Cluster"],
  flags: ["Cluster", "Hosted"],
  bounds: ["Cluster"],
  networkPolicy: ["Cluster"],
  admission: ["Cluster"],
  annotated: ["Cluster"],
  hosted: ["Hosted"],
  fleet: ["Fleet"],
  syncTenant: ["SyncTenant"],
  uninstall: ["Cluster"],
};

/** `role Fleet`, or `roles Cluster and Hosted`. */
export const named = (its: readonly Role[]): string =>
  its.length === 1 ? `role ${its[0]}` : `roles ${its.slice(0, -1).join(", ")} and ${its.at(-1)}`;

type Schema = Readonly<{ description: string } & Record<string, unknown>>;

/** Flags that the chart itself sets, or that also need a right or a file. */
const notValues = new Set([
  "original",
  "original-kubeconfig",
  "guest-kubeconfig",
  "namespace",
  "kubeconfig",
  "listen",
  "policy",
]);

/** `max-unavailable-limit` → `maxUnavailableLimit`. The template converts it back to kebab-case. */
export const valueOf = (flag: string): string =>
  flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The name of a value below `flags` → the controller's flag. */
export const flagValues: Readonly<Record<string, Flag>> = Object.fromEntries(
  Object.entries(flags)
    .filter(([name]) => !notValues.has(name))
    .map(([name, flag]) => [valueOf(name), flag]),
);

const text = (description: string, more: object = {}): Schema => ({
  description,
  type: "string",
  ...more,
});
const toggle = (description: string): Schema => ({ description, type: "boolean" });
const list = (description: string, items: object): Schema => ({
  description,
  type: "array",
  items,
});
/** Fields of a pod, which the API server checks. */
const free = (description: string): Schema => ({ description, type: "object" });
type Properties = Readonly<Record<string, Schema>>;
/**
 * `required`: values that templates need. A value is absent if it is set to null, and after `helm
 * upgrade --reuse-values` from a release that did not have the value yet.
 */
const group = <Names extends Properties>(
  description: string,
  properties: Names,
  required: readonly (keyof Names)[] = [],
) => ({
  description,
  type: "object",
  additionalProperties: false,
  ...(required.length > 0 && { required }),
  properties,
});

const name = { type: "string", pattern: namePattern };

/** `Role Fleet: ` for a value that only some roles use; otherwise empty. */
function prefixOf(value: string): string {
  const its = usedBy[value];
  return its === undefined ? "" : `${named(its).replace("r", "R")}: `;
}

/** If only some roles use a value, its description begins with these roles. */
const described = (all: Properties): Properties =>
  Object.fromEntries(
    Object.entries(all).map(([value, schema]) => [
      value,
      { ...schema, description: `${prefixOf(value)}${schema.description}` },
    ]),
  );

const properties = described({
  // Helm adds `global` and `enabled` to a chart that is a dependency of another chart.
  global: free("Values that a parent chart shares with its dependencies. Not used here."),
  enabled: toggle("For the condition of a parent chart's dependency. Not used here."),
  role: text(
    "The program that this release installs. Cluster: the controller of this cluster's nodes. Hosted: the controller of one guest, in the namespace of its control plane. Fleet: the controller of FleetSecrets. SyncManagement and SyncTenant: the two sides of SyncSecrets. If only some roles use a value, its description begins with their names. The chart refuses a value that is set for another role.",
    { enum: roles },
  ),
  image: group("The image of both controller and agents.", {
    repository: text(
      "The repository from which the nodes pull the image, without a tag. Required.",
    ),
    tag: text("The image's tag. If empty: the chart's appVersion."),
    digest: text("The image's digest (sha256:…). If it is set, the tag is not used.", {
      pattern: "^(sha256:[0-9a-f]{64})?$",
    }),
    pullPolicy: text("The pull policy of the controller's pods.", {
      enum: ["Always", "IfNotPresent", "Never"],
    }),
  }),
  imagePullSecrets: list("Secrets of kube-system with the credentials to pull the image.", {
    type: "object",
    additionalProperties: false,
    required: ["name"],
    properties: { name },
  }),
  crds: group("The role's CRD (FleetSecret or SyncSecret).", {
    install: toggle(
      "If false, you apply and upgrade the CRD yourself. An uninstall never deletes the CRD.",
    ),
  }),
  policy: policySchema(
    "The spec of the GlobalPullSecret object, such as {rollout: {maxUnavailable: 25%}}; docs/reference/globalpullsecret.md lists the fields. An upgrade changes only the fields that you change here, and returns a field that you remove here to its default. Other edits of the object stay, such as those of `kubectl pull-secret pause`.",
  ),
  original: text(
    "The Secret with the original pull secret, as NAMESPACE/NAME. The chart also grants the right to read it. If empty, the original is each node's own file.",
    { pattern: "^([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)?$" },
  ),
  extraSources: list(
    "Names of Secrets in kube-system that spec.sources may name. The chart grants the right to read them.",
    name,
  ),
  flags: group(
    "The controller's flags, in camelCase. docs/reference/configuration.md lists their defaults.",
    Object.fromEntries(Object.entries(flagValues).map(([key, flag]) => [key, flagSchema(flag)])),
  ),
  controller: group("The controller's pods.", {
    replicas: {
      description:
        "With 2, one pod works and the other is a standby. With 1, there is no PodDisruptionBudget.",
      type: "integer",
      minimum: 1,
    },
    resources: free(
      "Requests and limits. The highest peak measured was 185 MiB, with 5,000 nodes: Node.js keeps at most 96 MiB of old space (--max-old-space-size), and its program, buffers and TLS need the rest. With a limit below 256Mi the controller may run out of memory in a rollout.",
    ),
    nodeSelector: free("The labels of the nodes on which the controller may run."),
    tolerations: list(
      "Tolerations of the pods. If unset: those for control planes; with role Hosted, none.",
      { type: "object" },
    ),
    affinity: free("Replaces the preference for two different nodes."),
    topologySpreadConstraints: list(
      "Replaces the preference for two different zones. If unset: topology.kubernetes.io/zone with ScheduleAnyway. If []: none.",
      { type: "object" },
    ),
    extraEnv: list(
      "Additional environment variables, such as HTTPS_PROXY or NODE_EXTRA_CA_CERTS.",
      {
        type: "object",
        required: ["name"],
      },
    ),
    extraVolumes: list("Additional volumes of the pods, such as a ConfigMap with a CA.", {
      type: "object",
      required: ["name"],
    }),
    extraVolumeMounts: list("The mounts of these volumes in the container.", {
      type: "object",
      required: ["name", "mountPath"],
    }),
    podLabels: free("Additional labels of the pods."),
    podAnnotations: free("Additional annotations of the pods."),
    priorityClassName: text(
      "The PriorityClass of the pods. If empty: the cluster's default. If unset: system-cluster-critical; with role Hosted, the cluster's default.",
    ),
  }),
  serviceAccount: group("The account of the controller's pods.", {
    annotations: {
      ...free(
        "Additional annotations of the account, such as those that give it a cloud identity.",
      ),
      additionalProperties: { type: "string" },
      // Annotations with this prefix limit the account's rights.
      propertyNames: { not: { pattern: "^globalpullsecret\\.io/" } },
    },
  }),
  bounds: group("Limits for the controller's account.", {
    enabled: toggle(
      "Adds ValidatingAdmissionPolicies. They allow the account's DaemonSet to run only the image above, and its objects to have no other content and metadata than the controller's. If false, a thief of the account's token is root on every node.",
    ),
  }),
  monitoring: group("Metrics and alerts.", {
    enabled: toggle(
      "Adds a PodMonitor and a PrometheusRule for the role's program, and with role Cluster a metrics Service and a Grafana dashboard. Needs the CRDs of monitoring.coreos.com.",
    ),
    labels: {
      ...free(
        "Additional labels of the PodMonitor and the PrometheusRule, by which your Prometheus selects them. kube-prometheus-stack selects the label release with the name of its own release.",
      ),
      additionalProperties: { type: "string" },
      // The chart itself sets labels with these prefixes.
      propertyNames: { not: { pattern: "^(app\\.kubernetes\\.io|helm\\.sh)/" } },
    },
    alertLabels: {
      ...free("Additional labels of each alert, by which your Alertmanager routes them."),
      additionalProperties: { type: "string" },
      propertyNames: { not: { enum: ["severity", "namespace"] } },
    },
    disabledAlerts: list("Names of alerts to leave out.", {
      type: "string",
      enum: alerts.map(({ alert }) => alert),
    }),
    docs: text(
      "The beginning of each alert's runbook_url: the address at which you serve the folder docs of the released site, such as https://pages.example.com/docs. If empty, alerts have no runbook_url.",
    ),
  }),
  networkPolicy: group("Incoming and outgoing connections of the controller.", {
    enabled: toggle(
      "Adds a NetworkPolicy. It allows incoming metrics requests and probes, and outgoing connections to the API server's ports, to DNS, and to registries on port 443.",
    ),
    apiServerPorts: {
      ...list("Ports of the API server, including the port behind its Service.", {
        type: "integer",
        minimum: 1,
        maximum: 65_535,
      }),
      // A rule without ports would allow all ports.
      minItems: 1,
    },
  }),
  admission: group("Refusal of wrong Secrets at kubectl apply.", {
    enabled: toggle("Adds a ValidatingAdmissionPolicy for the Secrets that are sources."),
  }),
  annotated: group("spec.delivery.credentialProvider.scope Annotated.", {
    enabled: toggle(
      "Adds the right that kubelets need for this scope, and a ValidatingAdmissionPolicy that restricts who may annotate ServiceAccounts.",
    ),
  }),
  hosted: group(
    "One guest.",
    {
      original: {
        ...name,
        description: "The Secret with the original pull secret, in the release's namespace.",
      },
      kubeconfig: group(
        "The Secret with the guest's kubeconfig, in the release's namespace.",
        {
          secret: {
            ...name,
            description: "The Secret's name. With Cluster API, it is NAME-kubeconfig.",
          },
          key: text("The key in the Secret. With Cluster API, it is value.", {
            pattern: "^[-._a-zA-Z0-9]+$",
          }),
        },
        ["secret", "key"],
      ),
    },
    ["original", "kubeconfig"],
  ),
  fleet: group(
    "One Secret for many clusters.",
    {
      // A rule without resourceNames would grant every Secret there.
      sources: {
        ...list("Names of Secrets in kube-system that FleetSecrets may place in clusters.", name),
        minItems: 1,
      },
      clusterResourceSet: toggle("Adds the rights for FleetSecrets with via: ClusterResourceSet."),
    },
    ["sources"],
  ),
  syncTenant: group("One tenant's side of SyncSecrets.", {
    managementNamespace: text(
      "The tenant's namespace in the management cluster. Required. Its kubeconfig is in Secret global-pull-secret-sync-management, key kubeconfig.",
      { pattern: "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$" },
    ),
    removalDeadline: text(
      "How long a deleted SyncSecret waits for the deletion of its copy (s, m, h).",
      {
        pattern: "^[1-9][0-9]{0,5}(s|m|h)$",
      },
    ),
  }),
  hooks: group(
    "Objects that Helm creates temporarily, such as the Jobs of helm uninstall and helm test.",
    {
      enabled: toggle(
        "If false, the chart renders none of them, and helm uninstall withdraws nothing. Do not apply the whole output of helm template, which has no CRD: use kustomize instead.",
      ),
    },
  ),
  uninstall: group(
    "helm uninstall.",
    {
      withdraw: toggle(
        "Removes our entries from the nodes before the uninstall. If false, the nodes keep them.",
      ),
      timeout: text(
        "How long the nodes may take, such as 90s, 4m or 1h30m. After that, the uninstall fails. Keep it below helm's --timeout.",
        {
          pattern:
            "^([1-9][0-9]{0,5}h([1-9][0-9]?m)?([1-9][0-9]?s)?|[1-9][0-9]{0,5}m([1-9][0-9]?s)?|[1-9][0-9]{0,5}s)$",
        },
      ),
    },
    ["timeout"],
  ),
});

/** Required values: `role` and the groups. Lists, texts, flags and the policy can be absent. */
const required = Object.entries(properties)
  .filter(
    ([value, { type }]) =>
      value === "role" || (type === "object" && value !== "flags" && value !== "policy"),
  )
  .map(([value]) => value)
  .filter((value) => value !== "global");

/** All values of the chart, with their descriptions. */
const chartValues = group("Values of the chart.", properties, required);

export function valuesSchema(): string {
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...chartValues };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

export const valuesYaml = (): string => describedValues(chartValues);

/**
 * templates/_roles.tpl: the table of roles for checks.yaml, with the defaults of values.yaml. A
 * template cannot read values.yaml; it gets only the values into which a user's values are already
 * merged.
 */
export function rolesTemplate(): string {
  const defaults = load(textOf("chart/values.yaml")) as Record<string, unknown>;
  const rows = Object.entries(usedBy).map(([value, its]) => {
    const row = { named: named(its), roles: its, default: defaults[value] };
    return `  ${JSON.stringify(value)}: ${JSON.stringify(row)}`;
  });
  return `{{- /* Written from tools/install/values-schema.ts by npm run docs. */}}
{{- define "global-pull-secret.roles" -}}
{
${rows.join(",\n")}
}
{{- end }}
`;
}
