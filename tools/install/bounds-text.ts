/** The text of the policies that limit the controller's account. */
import { dump } from "js-yaml";
import * as names from "#contract/names.ts";

/** The controller's account, in kube-system. */
export const controller = "global-pull-secret-controller";

type Variable = Readonly<{ name: string; expression: string }>;
export type Validation = Readonly<{
  expression: string;
  message?: string;
  messageExpression?: string;
}>;
type Rule = Readonly<{
  group: string;
  version?: string;
  resources: string;
  operations: string;
  names?: string;
}>;

export type Bounds = Readonly<{
  name: string;
  /** The lines of the comment above the policy. */
  why: readonly string[];
  rules: readonly Rule[];
  conditions?: readonly Variable[];
  /** If set, the controller's ServiceAccount is the policy's parameter. */
  hasParameters?: true;
  variables?: readonly Variable[];
  validations: readonly Validation[];
}>;

/** The chart's template of a policy and its binding. */
export function templateOf(bounds: Bounds): string {
  const labels = `  labels:
    {{- include "global-pull-secret.labels" . | nindent 4 }}
`;
  const text = textOf(bounds).replaceAll(/^metadata:\n {2}name: .*\n/gm, (head) => head + labels);
  const condition = `and (eq .Values.role "Cluster") .Values.bounds.enabled`;
  return `{{- /* Written from controller/objects by npm run docs. */}}
{{- if ${condition} }}
${text}{{- end }}
`;
}

/** The YAML of a policy and its binding. */
export function textOf(bounds: Bounds): string {
  const { name, why, rules, conditions = [], hasParameters, variables, validations } = bounds;
  const head = (kind: string) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
  });
  const account = `system:serviceaccount:${names.namespace}:${controller}`;
  const policy = {
    ...head("ValidatingAdmissionPolicy"),
    spec: {
      failurePolicy: "Fail",
      ...(hasParameters && { paramKind: { apiVersion: "v1", kind: "ServiceAccount" } }),
      matchConstraints: {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": names.namespace } },
        resourceRules: rules.map(ruleOf),
      },
      matchConditions: [
        { name: "account", expression: `request.userInfo.username == '${account}'` },
        ...conditions,
      ],
      ...(variables && { variables: variables.map(onOneLine) }),
      validations: validations.map((validation) =>
        Object.assign(onOneLine(validation), { reason: "Forbidden" }),
      ),
    },
  };
  const paramRef = {
    name: controller,
    namespace: names.namespace,
    parameterNotFoundAction: "Deny",
  };
  const binding = {
    ...head("ValidatingAdmissionPolicyBinding"),
    spec: {
      policyName: name,
      ...(hasParameters && { paramRef }),
      validationActions: ["Deny"],
    },
  };
  const comment = why.map((line) => `# ${line}\n`).join("");
  return `${comment}${[policy, binding].map(written).join("---\n")}`;
}

function ruleOf({ group, version = "v1", resources, operations, names: its }: Rule): object {
  return {
    apiGroups: [group],
    apiVersions: [version],
    resources: resources.split(" "),
    operations: operations.split(" "),
    ...(its !== undefined && { resourceNames: its.split(" ") }),
  };
}

/** Joins the lines of each text. The YAML writer folds a text only if it has no line breaks. */
function onOneLine<One extends object>(fields: One): One {
  const folded = Object.entries(fields).map(([name, text]) => [
    name,
    String(text).replaceAll(/\n\s*/g, " "),
  ]);
  return Object.fromEntries(folded) as One;
}

const written = (object: object): string =>
  dump(object, { lineWidth: 100, quoteStyle: "double", noRefs: true });
