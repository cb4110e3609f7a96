/** values.schema.json of the chart: helm holds values against it, and people read it. */
import { flags } from "#controller/policy/flags.ts";
import type { Flag } from "#contract/table.ts";
import { flagSchema, namePattern } from "./flag-schema.ts";
import { policySchema } from "./policy-schema.ts";
import { prefixOf, roles } from "./roles.ts";
import { describedValues } from "./values-yaml.ts";

type Schema = Readonly<{ description: string } & Record<string, unknown>>;

/** What the chart itself decides, or needs a right or a file beside the flag. */
const notValues = new Set([
  "original",
  "original-kubeconfig",
  "guest-kubeconfig",
  "namespace",
  "kubeconfig",
  "listen",
  "policy",
]);

/** `max-unavailable-limit` is `maxUnavailableLimit`; the template makes it kebab-case again. */
export const valueOf = (flag: string): string =>
  flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The controller's flags that are values, by their name as a value. */
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
/** Fields of a pod, which the API server judges. */
const free = (description: string): Schema => ({ description, type: "object" });
type Properties = Readonly<Record<string, Schema>>;
/**
 * `required`: what templates cannot do without. A value that is set to null is absent, and so is
 * one that is younger than the release whose values `helm upgrade --reuse-values` takes.
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

/** The values that not every role uses have a description that begins with their roles. */
const described = (all: Properties): Properties =>
  Object.fromEntries(
    Object.entries(all).map(([value, schema]) => [
      value,
      { ...schema, description: `${prefixOf(value)}${schema.description}` },
    ]),
  );

const properties = described({
  // Helm adds both to a chart that is another one's dependency.
  global: free("Values that a parent chart shares with its dependencies. Not used here."),
  enabled: toggle("For the condition of a parent chart's dependency. Not used here."),
  role: text(
    "What this release installs: Cluster, the controller of this cluster's nodes; Hosted, that of one guest, in the namespace of its control plane; Fleet, that of FleetSecrets; SyncManagement and SyncTenant, the two sides of SyncSecrets. The description of a value begins with its roles, if not every role uses it. The chart refuses a value that is set for another role.",
    { enum: roles },
  ),
  image: group("The one image, of controller and agents.", {
    repository: text("Where the nodes pull it from, without a tag. Required."),
    tag: text("Empty: the chart's appVersion."),
    digest: text("sha256:…; with it the tag is not used.", { pattern: "^(sha256:[0-9a-f]{64})?$" }),
    pullPolicy: text("Of the controller's pods.", { enum: ["Always", "IfNotPresent", "Never"] }),
  }),
  imagePullSecrets: list("Secrets of kube-system that the image is pulled with.", {
    type: "object",
    additionalProperties: false,
    required: ["name"],
    properties: { name },
  }),
  crds: group("The CRD of GlobalPullSecret, FleetSecret or SyncSecret, by the role.", {
    install: toggle("false: apply and upgrade it yourself. An uninstall never deletes it."),
  }),
  policy: policySchema(
    "The spec of GlobalPullSecret, such as {rollout: {maxUnavailable: 25%}}; docs/reference/globalpullsecret.md lists the fields. The controller declares these fields and keeps them: it reverts edits of others, except `kubectl pull-secret pause` and `withdraw`, which last until `resume`. A field that you remove goes back to its default. Empty: it declares none, and the object is yours.",
  ),
  original: text(
    "Secret with the original pull secret, NAMESPACE/NAME; empty: each node's own file. The right to read it comes with it.",
    { pattern: "^([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)?$" },
  ),
  extraSources: list(
    "Names of Secrets of kube-system that spec.sources may name: the right to read them.",
    name,
  ),
  flags: group(
    "The controller's flags, in camelCase; what is absent is as docs/reference/configuration.md says.",
    Object.fromEntries(Object.entries(flagValues).map(([key, flag]) => [key, flagSchema(flag)])),
  ),
  controller: group("The controller's pods.", {
    replicas: {
      description: "2: one writes, the other stands by. With 1 there is no PodDisruptionBudget.",
      type: "integer",
      minimum: 1,
    },
    resources: free(
      "Requests and limits. The highest peak measured was 121 MiB: Node.js keeps at most 96 MiB of old space (--max-old-space-size), and its program, buffers and TLS need the rest. 256Mi leaves twice that; a lower limit risks an OOM kill in a rollout.",
    ),
    nodeSelector: free("Labels of the nodes that it may run on."),
    tolerations: list(
      "Taints that its pods bear. Unset: those of control planes, or with role Hosted none.",
      { type: "object" },
    ),
    affinity: free("In the place of the preference for two different nodes."),
    topologySpreadConstraints: list(
      "In the place of the preference for two different zones. Unset: topology.kubernetes.io/zone, ScheduleAnyway. []: none.",
      { type: "object" },
    ),
    extraEnv: list("More environment variables, such as HTTPS_PROXY or NODE_EXTRA_CA_CERTS.", {
      type: "object",
      required: ["name"],
    }),
    extraVolumes: list("More volumes of its pods, such as a ConfigMap with a CA.", {
      type: "object",
      required: ["name"],
    }),
    extraVolumeMounts: list("Where its container mounts them.", {
      type: "object",
      required: ["name", "mountPath"],
    }),
    podLabels: free("More labels of its pods."),
    podAnnotations: free("More annotations of its pods."),
    priorityClassName: text(
      "PriorityClass of its pods; empty: the cluster's default. Unset: system-cluster-critical, or with role Hosted the cluster's default.",
    ),
  }),
  serviceAccount: group("The account of the controller's pods.", {
    annotations: {
      ...free("More annotations of it, such as those that give it an identity of a cloud."),
      additionalProperties: { type: "string" },
      // These bound what the account may do.
      propertyNames: { not: { pattern: "^globalpullsecret\\.io/" } },
    },
  }),
  bounds: group("What the controller's account may do.", {
    enabled: toggle(
      "Adds ValidatingAdmissionPolicies: the account patches and deletes the agents' pods only, and its DaemonSet runs the image above only. false: a stolen token of the account can take over the cluster.",
    ),
  }),
  monitoring: group("Metrics and alerts.", {
    enabled: toggle(
      "Adds a PodMonitor and a PrometheusRule for the role's program, and with role Cluster a metrics Service and a Grafana dashboard. Needs the definitions of monitoring.coreos.com.",
    ),
    labels: {
      ...free(
        "More labels of the PodMonitor and the PrometheusRule, by which your Prometheus selects them. kube-prometheus-stack selects the label release with the name of its own release.",
      ),
      additionalProperties: { type: "string" },
      // The chart sets these itself.
      propertyNames: { not: { pattern: "^(app\\.kubernetes\\.io|helm\\.sh)/" } },
    },
    docs: text(
      "Address where you serve docs/, such as https://docs.example.com/pull-secret: the beginning of each alert's runbook_url. Empty: alerts have no runbook_url.",
    ),
  }),
  networkPolicy: group("What it may be asked and may ask.", {
    enabled: toggle("Adds a NetworkPolicy: metrics and probes in, the API server's ports out."),
    apiServerPorts: {
      ...list("Ports of the API server, behind its Service as well.", {
        type: "integer",
        minimum: 1,
        maximum: 65_535,
      }),
      // A rule without ports would allow all.
      minItems: 1,
    },
  }),
  admission: group("Wrong Secrets refused at kubectl apply.", {
    enabled: toggle("Adds a ValidatingAdmissionPolicy for the Secrets that are sources."),
  }),
  annotated: group("spec.delivery.credentialProvider.scope Annotated.", {
    enabled: toggle(
      "Adds what kubelets need for it, and a ValidatingAdmissionPolicy: who may annotate.",
    ),
  }),
  hosted: group(
    "One guest.",
    {
      original: {
        ...name,
        description: "Secret with the original pull secret, in the release's namespace.",
      },
      kubeconfig: group(
        "Where the guest's kubeconfig is, in the release's namespace.",
        {
          secret: { ...name, description: "The Secret's name; with Cluster API NAME-kubeconfig." },
          key: text("Its key; with Cluster API value.", { pattern: "^[-._a-zA-Z0-9]+$" }),
        },
        ["secret", "key"],
      ),
    },
    ["original", "kubeconfig"],
  ),
  fleet: group(
    "One Secret, many clusters.",
    {
      // A rule without a name would grant every Secret there.
      sources: {
        ...list("Names of Secrets of kube-system that FleetSecrets may bring.", name),
        minItems: 1,
      },
      clusterResourceSet: toggle("Adds the rights for via: ClusterResourceSet."),
    },
    ["sources"],
  ),
  syncTenant: group("One tenant's side of SyncSecrets.", {
    managementNamespace: text(
      "The tenant's namespace in the management cluster. Required. Its kubeconfig is in Secret global-pull-secret-sync-management, key kubeconfig.",
      { pattern: "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$" },
    ),
    removalDeadline: text(
      "How long a deleted SyncSecret waits for its copy to be gone (s, m, h).",
      {
        pattern: "^[1-9][0-9]{0,5}(s|m|h)$",
      },
    ),
  }),
  hooks: group(
    "Objects that Helm creates for a moment, such as the Jobs of helm uninstall and helm test.",
    {
      enabled: toggle(
        "false: renders none. Set it if you apply the output of helm template, or tools apply it: these Jobs would run at once, and withdraw the pull secret.",
      ),
    },
  ),
  uninstall: group(
    "helm uninstall.",
    {
      withdraw: toggle("Before it, let the nodes give back what is ours; false: they keep it."),
      timeout: text(
        "How long they may take (s, m, h); then the uninstall fails. Keep it below helm's --timeout.",
        { pattern: "^[1-9][0-9]{0,5}(s|m|h)$" },
      ),
    },
    ["timeout"],
  ),
});

/** Lists, texts and flags may be absent. */
const required = Object.entries(properties)
  .filter(
    ([value, { type }]) =>
      value === "role" || (type === "object" && value !== "flags" && value !== "policy"),
  )
  .map(([value]) => value)
  .filter((value) => value !== "global");

/** All of them, as the schema describes them. */
export const chartValues = group("Values of the chart.", properties, required);

/** The file's text. */
export function valuesSchema(): string {
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...chartValues };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The text of values.yaml. */
export const valuesYaml = (): string => describedValues(chartValues);
