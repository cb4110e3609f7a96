/**
 * Generates the parts of manifests/chart that repeat manifests/. A chart cannot use files outside
 * its folder, and some tools refuse charts with symbolic links.
 */
import { annotationOf, boundsFiles, installed } from "./bounds.ts";
import { chartReadme } from "./chart-readme.ts";
import { flags } from "#controller/policy/flags.ts";
import { alerts, type Program } from "./alerts.ts";
import { componentOf, monitoringParts } from "./monitoring.ts";
import { rolesTemplate, type Role } from "./roles.ts";
import { valueOf, valuesSchema, valuesYaml } from "./values-schema.ts";
import { textOf } from "./yaml.ts";

type Part = Readonly<{
  /** The roles that install the file. */
  role: Role | readonly Role[];
  /** A condition in addition to the role. */
  when?: string;
  /** Text of the file → its replacement in the chart. */
  values?: Readonly<Record<string, string>>;
}>;

const cluster: Part = { role: "Cluster" };
const fleet: Part = { role: "Fleet" };
const optional = (value: string): Part => ({ role: "Cluster", when: `.Values.${value}.enabled` });
const delegated: Part = { role: "Fleet", when: ".Values.fleet.clusterResourceSet" };

/** With only one controller, a PodDisruptionBudget would block drains. */
const several = "gt (int .Values.controller.replicas) 1";

const management: Part = { role: "SyncManagement" };
const tenant: Part = { role: "SyncTenant" };

/** The release's namespace, in place of the `namespace:` of a kustomization. */
const place = "namespace: {{ .Release.Namespace }}";
const placed = (name: string) => ({
  [`metadata:\n  name: ${name}\n`]: `metadata:\n  name: ${name}\n  ${place}\n`,
});
const hosted = (values: Part["values"] = {}, when?: string): Part => ({
  role: "Hosted",
  ...(when && { when }),
  values: { ...placed("global-pull-secret-controller"), ...values },
});
/**
 * Whether a flag names the agents' image. If not, the controller reads its own pod to find the
 * image.
 */
const namesImage = "(.Values.flags | default dict).agentImage";
const ownPod = `  # The controller's own pod, whose image the agents run; not with --agent-image.
  - apiGroups: [""]
    resources: [pods]
    verbs: [get]
`;
const account = "  - kind: ServiceAccount\n    name: global-pull-secret-controller\n";

/** The annotations from which the policy for the agents' DaemonSet reads the chart's values. */
const image = `    ${annotationOf("agent-image")}: `;
const ofFlags = (Object.keys(installed) as (keyof typeof installed)[])
  .filter((flag) => flag !== "agent-image")
  .map(
    (flag) => `    {{- with (.Values.flags | default dict).${valueOf(flag)} }}
    ${annotationOf(flag)}: {{ ${"repeated" in flags[flag] ? 'join "\\n" .' : "."} | quote }}
    {{- end }}
`,
  );

/** The account's annotations, such as those that give it a cloud identity. */
const annotations = ".Values.serviceAccount.annotations";
const annotated = (name: string, more = "") => ({
  [`metadata:\n  name: ${name}\n`]: `metadata:\n  name: ${name}\n${more}  {{- with ${annotations} }}\n  annotations: {{ toJson . }}\n  {{- end }}\n`,
});
const moreAnnotations = `    {{- with ${annotations} }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n`;

/** Labels for an object without labels. `labelled` adds the standard labels before them. */
const moreLabels = `metadata:
  labels:
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
`;
const ownNamespace = `{{ include "global-pull-secret.namespace" $ }}`;
const monitored: Readonly<Record<string, string>> = {
  "metadata:\n": moreLabels,
  "namespace: kube-system": `namespace: ${ownNamespace}`,
};

/** Adds links only if the value `docs` is set, because Alertmanager cannot open a relative path. */
function linksOf(program: Program): Readonly<Record<string, string>> {
  const its = alerts.filter(({ of }) => of.includes(program));
  const [begin, indent] = ['{{ . | trimSuffix "/" }}', " ".repeat(12)];
  return Object.fromEntries(
    its.map(({ runbook }) => [
      `${indent}runbook_url: ${runbook}\n`,
      `${indent}{{- with $.Values.monitoring.docs }}
${indent}runbook_url: ${runbook.replace(/^docs/, begin)}
${indent}{{- end }}
`,
    ]),
  );
}

/**
 * With role Hosted, the controller's pods are in this cluster, but the controller works on the
 * guest.
 */
const ofGuest: Readonly<Record<string, string>> = {
  "In the cluster, run": `In the {{ eq $.Values.role "Hosted" | ternary (printf "guest cluster of namespace %s" $.Release.Namespace) "cluster" }}, run`,
  "kube-system -l": `${ownNamespace} -l`,
  "kube-system deploy/": `${ownNamespace} deploy/`,
};

function monitorsOf(program: Program, role: Part["role"]): Readonly<Record<string, Part>> {
  const part = { role, when: ".Values.monitoring.enabled" };
  return {
    [`${componentOf(program)}/podmonitor.yaml`]: { ...part, values: monitored },
    [`${componentOf(program)}/prometheusrule.yaml`]: {
      ...part,
      values: {
        ...monitored,
        'namespace="kube-system"': `namespace="${ownNamespace}"`,
        // Quoted, because Prometheus fills in the label, not Helm.
        "{{ $labels.": '{{ "{{" }} $labels.',
        ...linksOf(program),
        ...(program === "controller" && ofGuest),
      },
    },
  };
}

const ports = `        - { protocol: TCP, port: 443 }
        - { protocol: TCP, port: 6443 }
`;
const portsOfValues = `        {{- range .Values.networkPolicy.apiServerPorts | default (list 443 6443) }}
        - { protocol: TCP, port: {{ int . }} }
        {{- end }}
`;

/** File of manifests/ → its role, condition and replacements in the chart. */
const copied: Readonly<Record<string, Part>> = {
  "base/serviceaccount.yaml": {
    ...cluster,
    values: {
      [`${image}global-pull-secret\n`]: `${image}{{ include "global-pull-secret.agentImage" . | quote }}\n${ofFlags.join("")}${moreAnnotations}`,
    },
  },
  "base/role.yaml": {
    ...cluster,
    values: {
      "verbs: [get, list, watch, patch, delete]": `verbs: [{{ empty ${namesImage} | ternary "get, " "" }}list, watch, patch, delete]`,
    },
  },
  "base/rolebinding.yaml": cluster,
  "base/clusterrole.yaml": cluster,
  "base/clusterrolebinding.yaml": cluster,
  "base/viewer.yaml": cluster,
  "base/poddisruptionbudget.yaml": { role: "Cluster", when: several },
  "base/pods-policy.yaml": optional("bounds"),
  "base/daemonset-policy.yaml": optional("bounds"),
  "base/objects-policy.yaml": optional("bounds"),
  "components/monitoring/service.yaml": optional("monitoring"),
  "components/monitoring/dashboard.yaml": optional("monitoring"),
  ...monitorsOf("controller", ["Cluster", "Hosted"]),
  ...monitorsOf("fleet", "Fleet"),
  ...monitorsOf("sync-management", "SyncManagement"),
  ...monitorsOf("sync-tenant", "SyncTenant"),
  "components/network-policy/networkpolicy.yaml": {
    ...optional("networkPolicy"),
    values: { [ports]: portsOfValues },
  },
  "components/admission/policy.yaml": optional("admission"),
  "components/admission/binding.yaml": optional("admission"),
  "components/annotated/audience.yaml": optional("annotated"),
  "components/annotated/audience-binding.yaml": optional("annotated"),
  "components/annotated/user.yaml": optional("annotated"),
  "components/annotated/policy.yaml": optional("annotated"),
  "components/annotated/binding.yaml": optional("annotated"),
  "hosted/serviceaccount.yaml": hosted(annotated("global-pull-secret-controller", `  ${place}\n`)),
  "hosted/role.yaml": hosted({
    "[pull-secret]": "[{{ .Values.hosted.original | quote }}]",
    [ownPod]: `{{- if empty ${namesImage} }}\n${ownPod}{{- end }}\n`,
  }),
  "hosted/rolebinding.yaml": hosted({ [account]: `${account}    ${place}\n` }),
  "hosted/poddisruptionbudget.yaml": hosted({}, several),
  "fleet/serviceaccount.yaml": { ...fleet, values: annotated("global-pull-secret-fleet") },
  "fleet/role.yaml": {
    ...fleet,
    values: { "[source-pull-secret]": "{{ toJson .Values.fleet.sources }}" },
  },
  "fleet/rolebinding.yaml": fleet,
  "fleet/clusterrole.yaml": fleet,
  "fleet/clusterrolebinding.yaml": fleet,
  "fleet/clusters-namespace.yaml": fleet,
  "fleet/clusters-role.yaml": fleet,
  "fleet/clusters-rolebinding.yaml": fleet,
  "fleet/cluster-resource-set/policy.yaml": delegated,
  "fleet/cluster-resource-set/policy-binding.yaml": delegated,
  "fleet/cluster-resource-set/clusterrole.yaml": delegated,
  "fleet/cluster-resource-set/clusterrolebinding.yaml": delegated,
  "sync/management/serviceaccount.yaml": {
    ...management,
    values: annotated("global-pull-secret-sync-management"),
  },
  "sync/management/role.yaml": management,
  "sync/management/rolebinding.yaml": management,
  "sync/management/clusterrole.yaml": management,
  "sync/management/clusterrolebinding.yaml": management,
  "sync/management/policies.yaml": management,
  "sync/management/policy-bindings.yaml": management,
  "sync/management/poddisruptionbudget.yaml": { ...management, when: several },
  "sync/tenant/serviceaccount.yaml": {
    ...tenant,
    values: annotated("global-pull-secret-sync-tenant"),
  },
  "sync/tenant/role.yaml": tenant,
  "sync/tenant/rolebinding.yaml": tenant,
  "sync/tenant/clusterrole.yaml": tenant,
  "sync/tenant/clusterrolebinding.yaml": tenant,
  "sync/tenant/poddisruptionbudget.yaml": { ...tenant, when: several },
};

/** CRD → its roles and its file in the chart. */
const definitions: Readonly<Record<string, Readonly<{ roles: readonly Role[]; file: string }>>> = {
  "crds/globalpullsecrets.yaml": { roles: ["Cluster"], file: "crd" },
  "crds/fleetsecrets/fleetsecrets.yaml": { roles: ["Fleet"], file: "fleet-crd" },
  "crds/syncsecrets/syncsecrets.yaml": {
    roles: ["SyncManagement", "SyncTenant"],
    file: "sync-crd",
  },
};

/** File → its text. */
export function chartParts(): Readonly<Record<string, string>> {
  const templates = Object.entries(copied).map(([file, { role, when, values = {} }]) => {
    const condition = given([role].flat(), when);
    const text = labelled(valued(file, values));
    return [nameOf(file), `${headOf(file)}${within(condition, text)}`] as const;
  });
  const crds = Object.entries(definitions).map(([file, { roles, file: name }]) => {
    const condition = given(roles, ".Values.crds.install");
    const text = `${headOf(file)}${within(condition, labelled(kept(file)))}`;
    return [`manifests/chart/templates/${name}.yaml`, text] as const;
  });
  return {
    ...Object.fromEntries(templates),
    ...Object.fromEntries(crds),
    "manifests/chart/templates/_roles.tpl": rolesTemplate(),
    "manifests/chart/values.schema.json": valuesSchema(),
    "manifests/chart/values.yaml": valuesYaml(),
    "manifests/chart/README.md": chartReadme(),
  };
}

const headOf = (file: string) => `{{- /* Written from manifests/${file} by npm run docs. */}}\n`;

function given(its: readonly Role[], when?: string): string {
  const names = its.map((role) => JSON.stringify(role)).join(" ");
  const isOne = its.length === 1 ? `eq .Values.role ${names}` : `has .Values.role (list ${names})`;
  return when === undefined ? isOne : `and (${isOne}) (${when})`;
}

const within = (condition: string, text: string) =>
  `{{- if ${condition} }}\n${text.trimEnd()}\n{{- end }}\n`;

function valued(file: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((text, [there, value]) => {
    if (!text.includes(there)) throw new Error(`manifests/${file}: has no ${there.trim()}`);
    return text.replaceAll(there, () => value);
  }, sourceOf(file));
}

const labels = `    {{- include "global-pull-secret.labels" $ | nindent 4 }}\n`;

/** Adds the labels that every object of the chart has. */
function labelled(text: string): string {
  return text.replaceAll(/^metadata:\n((?: .*\n)*)/gm, (_, its: string) =>
    /^  labels:$/m.test(its)
      ? `metadata:\n${its.replace(/^  labels:\n/m, (head) => `${head}${labels}`)}`
      : `metadata:\n  labels:\n${labels}${its}`,
  );
}

/** Some files of manifests/ are generated too, and might be outdated on disk. */
const sourceOf = (file: string): string =>
  monitoringParts()[`manifests/${file}`] ?? boundsFiles()[file] ?? textOf(file);

/** The CRD, which an uninstall keeps. It is in templates/, so that an upgrade also upgrades it. */
function kept(file: string): string {
  const annotation = "  annotations:\n    helm.sh/resource-policy: keep\n";
  return textOf(file).replace(/^metadata:\n/m, (head) => `${head}${annotation}`);
}

/** `components/admission/policy.yaml` becomes templates/admission-policy.yaml. */
function nameOf(file: string): string {
  const words = file.split("/");
  const parts = words[0] === "base" || words[0] === "components" ? words.slice(1) : words;
  return `manifests/chart/templates/${parts.join("-")}`;
}
