/**
 * Admission policies of other owners on the real API server, such as the MutatingAdmissionPolicies
 * that platform teams write.
 */
import type { V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import { paths, type Plane } from "./plane.ts";

const group = "admissionregistration.k8s.io/v1";
const pod = "Object.spec.template.spec";

export type AdmissionPolicy = Readonly<{
  apiGroup: string;
  resource: "daemonsets" | "secrets";
  mutations: readonly object[];
}>;

const applied = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patched = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });

/**
 * Changes to the DaemonSet, and for each the CEL expression of a policy. An atomic list can only be
 * changed by a JSON patch.
 */
export const additions = {
  label: applied('Object{metadata: Object.metadata{labels: {"team": "platform"}}}'),
  annotation: applied('Object{metadata: Object.metadata{annotations: {"cost": "shared"}}}'),
  costs: applied(
    "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{" +
      'labels: {"cost-center": "7"}, annotations: {"cost.example/team": "platform"}}}}}',
  ),
  env: applied(
    `Object{spec: Object.spec{template: Object.spec.template{spec: ${pod}{containers: [${pod}.containers{name: "agent",` +
      ` env: [${pod}.containers.env{name: "HTTPS_PROXY", value: "http://proxy.example"}]}]}}}}`,
  ),
  volume: applied(
    `Object{spec: Object.spec{template: Object.spec.template{spec: ${pod}{volumes: [${pod}.volumes{name: "certificates",` +
      ` emptyDir: ${pod}.volumes.emptyDir{}}]}}}}`,
  ),
  toleration: patched(
    'object.spec.template.spec.tolerations.exists(t, has(t.key) && t.key == "added") ? [] :' +
      ` [JSONPatch{op: "add", path: "/spec/template/spec/tolerations/-", value: ${pod}.tolerations{key: "added", operator: "Exists"}}]`,
  ),
} as const;

/** Changes every image to another registry, as for a mirror. */
export const mirrorImages = patched(
  'object.spec.template.spec.containers[0].image.startsWith("informer.example/") ? [] :' +
    ' [JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "informer.example/" + object.spec.template.spec.containers[0].image}]',
);

/** Changes the update strategy to OnDelete, so that the DaemonSet controller replaces no pod. */
export const onDelete = patched(
  '[JSONPatch{op: "replace", path: "/spec/updateStrategy", value: Object.spec.updateStrategy{type: "OnDelete"}}]',
);

/** Replaces every pull secret's document by `{}`. */
export const otherData = patched(
  '[JSONPatch{op: "replace", path: "/data/.dockerconfigjson", value: "e30="}]',
);

export const onDaemonSets = (...mutations: readonly object[]): AdmissionPolicy => ({
  apiGroup: "apps",
  resource: "daemonsets",
  mutations,
});

export const onSecrets = (...mutations: readonly object[]): AdmissionPolicy => ({
  apiGroup: "",
  resource: "secrets",
  mutations,
});

/** A policy that adds a label, an annotation and a proxy to the template of every DaemonSet. */
export const sharingCosts: readonly object[] = policyOf("Mutating", "costs", {
  failurePolicy: "Fail",
  reinvocationPolicy: "Never",
  matchConstraints: {
    resourceRules: [
      ruleFor("CREATE", "daemonsets", "apps"),
      ruleFor("UPDATE", "daemonsets", "apps"),
    ],
  },
  mutations: [additions.costs, additions.env],
});

/** A policy that adds a label and an annotation to objects of this kind and name at each write. */
export const stamping = (kind: string, name: string): readonly object[] =>
  policyOf("Mutating", "stamp", {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: {
      resourceRules: ["CREATE", "UPDATE"].map((operation) =>
        ruleFor(operation, `${kind.toLowerCase()}s`, "*"),
      ),
    },
    matchConditions: [{ name: "object", expression: `object.metadata.name == '${name}'` }],
    mutations: [
      applied(
        'Object{metadata: Object.metadata{labels: {"stamp": "s"}, annotations: {"stamp": "s"}}}',
      ),
    ],
  });

/**
 * A policy that denies every ConfigMap in the namespace `default`. The message of the denial
 * contains the annotation `word` of the ServiceAccount `worded`.
 */
export const denyingConfigMaps: readonly object[] = policyOf(
  "Validating",
  "worded",
  {
    paramKind: { apiVersion: "v1", kind: "ServiceAccount" },
    matchConstraints: {
      resourceRules: [ruleFor("CREATE", "configmaps")],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
    },
    validations: [
      {
        expression: "false",
        messageExpression: "'word ' + params.metadata.annotations['word']",
        reason: "Forbidden",
      },
    ],
  },
  {
    paramRef: { name: "worded", namespace: "default", parameterNotFoundAction: "Deny" },
    validationActions: ["Deny"],
  },
);

function policyOf(
  verb: "Mutating" | "Validating",
  name: string,
  spec: object,
  binding = {},
): readonly object[] {
  const [apiVersion, metadata] = [group, { name }];
  const kind = `${verb}AdmissionPolicy`;
  return [
    { apiVersion, kind, metadata, spec },
    { apiVersion, kind: `${kind}Binding`, metadata, spec: { policyName: name, ...binding } },
  ];
}

function ruleFor(operation: string, resource: string, apiGroup = ""): object {
  return {
    apiGroups: [apiGroup],
    apiVersions: ["*"],
    operations: [operation],
    resources: [resource],
  };
}

/** Applies a policy and waits until the API server enforces it. */
export async function impose(on: Plane, name: string, policy: AdmissionPolicy): Promise<void> {
  const { apiGroup, resource, mutations } = policy;
  const before = await tried(on, resource);
  const rule = {
    apiGroups: [apiGroup],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: [resource],
  };
  const ours = `object.metadata.name in ["global-pull-secret", "global-pull-secret-syncer", "${probe}"]`;
  const spec = {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "ours", expression: ours }],
    mutations,
  };
  await on.cluster.apply(
    { apiVersion: group, kind: "MutatingAdmissionPolicy", metadata: { name }, spec },
    {
      apiVersion: group,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name },
    },
  );
  await until(`policy ${name} is in force`, async () => (await tried(on, resource)) !== before);
}

/** Deletes the policy and waits until the API server no longer enforces it. */
export async function withdraw(
  on: Plane,
  name: string,
  { resource }: AdmissionPolicy,
): Promise<void> {
  const before = await tried(on, resource);
  await on.cluster.kubectl(
    "delete",
    "mutatingadmissionpolicybinding,mutatingadmissionpolicy",
    name,
  );
  await until(`policy ${name} is gone`, async () => (await tried(on, resource)) !== before);
}

const probe = "admission-probe";

/** Returns an object of this kind as the API server's admission would change it. */
async function tried(on: Plane, resource: "daemonsets" | "secrets"): Promise<string> {
  const metadata = { name: probe, namespace: "kube-system" };
  const labels = { probe };
  const spec = {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: "agent", image: "x" }], tolerations: [{ operator: "Exists" }] },
    },
  };
  const [path, body] =
    resource === "secrets"
      ? [
          `${paths.secrets}/${probe}`,
          { apiVersion: "v1", kind: "Secret", metadata, data: { ".dockerconfigjson": "" } },
        ]
      : [
          paths.daemonSet.replace(/[^/]+$/, probe),
          { apiVersion: "apps/v1", kind: "DaemonSet", metadata, spec },
        ];
  const answer = await on.api.apply<V1DaemonSet & V1Secret>(`${path}?dryRun=All`, body, {
    manager: "probe",
    force: true,
  });
  return JSON.stringify([
    answer.metadata?.labels,
    answer.metadata?.annotations,
    answer.spec,
    answer.data,
  ]);
}
