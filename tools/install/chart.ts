/**
 * The parts of manifests/chart that say what manifests/ says already, written from it: a chart
 * holds no file from outside its folder, and a link to one is refused by some who read charts.
 */
import { valuesSchema } from "./values-schema.ts";
import { textOf } from "./yaml.ts";

/** File of manifests/ → the condition on which the chart has it. */
const copied = {
  "base/serviceaccount.yaml": undefined,
  "base/role.yaml": undefined,
  "base/rolebinding.yaml": undefined,
  "base/clusterrole.yaml": undefined,
  "base/clusterrolebinding.yaml": undefined,
  "base/viewer.yaml": undefined,
  // With one controller it would hold up drains.
  "base/poddisruptionbudget.yaml": "gt (int .Values.controller.replicas) 1",
  "components/network-policy/networkpolicy.yaml": ".Values.networkPolicy.enabled",
  "components/admission/policy.yaml": ".Values.admission.enabled",
  "components/admission/binding.yaml": ".Values.admission.enabled",
  "components/annotated/audience.yaml": ".Values.annotated.enabled",
  "components/annotated/audience-binding.yaml": ".Values.annotated.enabled",
  "components/annotated/user.yaml": ".Values.annotated.enabled",
  "components/annotated/policy.yaml": ".Values.annotated.enabled",
  "components/annotated/binding.yaml": ".Values.annotated.enabled",
} as const;

const definition = "crds/globalpullsecrets.yaml";

/** File → its text. */
export function chartParts(): Readonly<Record<string, string>> {
  const templates = Object.entries(copied).map(([file, condition]) => {
    const text = condition === undefined ? textOf(file) : given(condition, textOf(file));
    return [nameOf(file), `${headOf(file)}${text}`] as const;
  });
  return {
    ...Object.fromEntries(templates),
    "manifests/chart/templates/crd.yaml": `${headOf(definition)}${given(".Values.crds.install", kept())}`,
    "manifests/chart/values.schema.json": valuesSchema(),
  };
}

const headOf = (file: string) =>
  `{{- /* Written from manifests/${file} by node build/run.mjs tools/docs.ts. */}}\n`;

const given = (condition: string, text: string) =>
  `{{- if ${condition} }}\n${text.trimEnd()}\n{{- end }}\n`;

/** Among templates/, so that an upgrade of the release upgrades it; and no uninstall deletes it. */
function kept(): string {
  const annotation = "  annotations:\n    helm.sh/resource-policy: keep\n";
  return textOf(definition).replace(/^metadata:\n/m, (head) => `${head}${annotation}`);
}

/** `components/admission/policy.yaml` is templates/admission-policy.yaml. */
function nameOf(file: string): string {
  const [, ...words] = file.split("/");
  return `manifests/chart/templates/${words.join("-")}`;
}
