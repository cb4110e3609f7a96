/**
 * The ValidatingAdmissionPolicies that limit the controller's own account
 * (docs/inside/decisions/admission-bounds.md). They are generated from the objects that the
 * controller declares. Every field of the agents' template is pinned, unless agent-template.ts
 * lists the field as free.
 */
import * as names from "#contract/names.ts";
import { keysSet, unchanged } from "#contract/own-metadata.ts";
import { globalSecret } from "#controller/objects/global-secret.ts";
import { annotations } from "#controller/objects/annotations.ts";
import { cover } from "#controller/objects/container.ts";
import { restartedAt, role, roleBinding } from "#controller/objects/daemonset.ts";
import { readState, stateSecret } from "#controller/objects/state.ts";
import { flags } from "#controller/policy/flags.ts";
import { mostResources } from "#controller/policy/resources.ts";
import { leaseName, ownerLabels } from "#kube/client/ownership.ts";
import * as agents from "./agent-template.ts";
import { controller, templateOf, type Bounds, type Validation } from "./bounds-text.ts";
import { literal } from "./cel.ts";

const cel = (value: unknown): string => literal(value, agents.places);

/** Refuses the request if the variable of this name lists keys that the account may not change. */
const noKeys = (field: "labels" | "annotations"): Validation => ({
  expression: `object == null || variables.${field} == []`,
  messageExpression: `'${field} that this account may not change: ' + variables.${field}.join(', ') +
' (if your admission changes them: GPS321)'`,
});
/**
 * The installer's choices: flag of the controller → the default, if the controller's ServiceAccount
 * has no annotation with that name. In an overlay, `images:` sets the first annotation, because
 * manifests/base configures this. The chart sets all annotations from its values. The policy's
 * parameter is the ServiceAccount, because the API server always watches ServiceAccounts for
 * authentication. With a Deployment as the parameter, the API server could use an outdated
 * Deployment, which it read before the policy was last deleted
 * (docs/inside/decisions/admission-bounds.md).
 */
export const installed = {
  "agent-image": "",
  // KEY=VALUE, one per line.
  "agent-annotation": "",
  "agent-label": "",
  "apparmor-profile": flags["apparmor-profile"].standard,
  "containerd-directory": "",
  "healthz-address": flags["healthz-address"].standard,
  "healthz-port": flags["healthz-port"].standard,
  "kubelet-directory": flags["kubelet-directory"].standard,
  "kubelet-unit": flags["kubelet-unit"].standard,
  "restart-control-plane": flags["restart-control-plane"].standard,
  "selinux-type": flags["selinux-type"].standard,
} as const;

export const annotationOf = (flag: keyof typeof installed): string => `globalpullsecret.io/${flag}`;

const parameterOf = (flag: keyof typeof installed): string =>
  `params.metadata.?annotations[?'${annotationOf(flag)}'].orValue('${installed[flag]}')`;

/**
 * Names of the fields of `object` whose value is not pinned, and of pinned fields that `object`
 * lacks. Omits fields for which `before` is true: they had this value before the request.
 */
const differing = (object: string, pinned: string, others: string, before: string): string =>
  `(${object}.filter(f, !(f in ${others}) && !(f in ${pinned} && ${object}[f] in ${pinned}[f]) &&
!(${before})) + ${pinned}.filter(f, !(f in ${object})))`;

const ofPod = differing(
  "variables.spec",
  "variables.podFields",
  "variables.otherPodFields",
  "f in variables.oldSpec && variables.oldSpec[f] == variables.spec[f]",
);
const ofContainer = differing(
  "c",
  "variables.containerFields[c.name]",
  "variables.otherContainerFields[c.name]",
  "variables.oldContainers.exists(old, old.name == c.name && f in old && old[f] == c[f])",
);

/** True if this list of the container `c` had the element before the request. */
const before = (list: string, element: string): string =>
  `variables.oldContainers.exists(old, old.name == c.name && has(old.${list}) && ${element} in old.${list})`;

/**
 * Keys of the template that the request itself sets, and that are neither ours nor the installer's.
 * Other admission may set any key.
 */
const unnamed = (field: "labels" | "annotations", ours: Parameters<typeof keysSet>[1]): string =>
  `${keysSet(field, ours, ["spec", "template", "metadata"])}.filter(k,
!('\\n' + ${parameterOf(`agent-${field === "labels" ? "label" : "annotation"}`)} + '\\n').contains(
  '\\n' + k + '=' + variables.metadata.${field}[k] + '\\n'))`;

const unnamedOfTemplate = `${unnamed("labels", { ...names.agentLabels, ...ownerLabels })} +
${unnamed("annotations", [restartedAt, annotations.template, annotations.mode])} +
variables.metadata.filter(f, !(f in ['annotations', 'creationTimestamp', 'labels']) &&
  variables.oldMetadata[?f] != optional.of(variables.metadata[f]))`;

/** How messages name the annotation. */
const annotation = (flag: keyof typeof installed): string =>
  `the annotation ${annotationOf(flag)} of ServiceAccount ${controller}`;

/** The agents' argument of this flag must have the installer's value. */
const pinned = (flag: keyof typeof installed): Validation => ({
  expression: `variables.arguments.all(a, a.contains(' --${flag === "kubelet-unit" ? "unit" : flag} ' + ${parameterOf(flag)} + ' '))`,
  message: `--${flag} is not as in ${annotation(flag)}`,
});

const mostText = Object.entries(mostResources)
  .map(([name, most]) => `${name}=${most}`)
  .join(",");
const loopback = [flags["healthz-address"].standard, "127.0.0.1", "::1"];
const template = agents.template();

const daemonSet: Bounds = {
  name: "global-pull-secret-daemonset",
  hasParameters: true,
  why: [
    "The agents run as root on every node. This policy allows the controller's account to run only",
    "agents of this release, with the image, the directories and the unit in the annotations of its",
    "ServiceAccount.",
  ],
  rules: [
    {
      group: "apps",
      resources: "daemonsets",
      operations: "CREATE UPDATE",
      names: names.agentName,
    },
  ],
  conditions: [
    // After an upgrade of this policy, the old controller must keep working until the new
    // controller leads.
    {
      name: "agents-change",
      expression: "oldObject == null || object.spec.template != oldObject.spec.template",
    },
  ],
  variables: [
    { name: "image", expression: parameterOf("agent-image") },
    { name: "kubeletDirectory", expression: parameterOf("kubelet-directory") },
    { name: "containerdDirectory", expression: parameterOf("containerd-directory") },
    { name: "seLinuxType", expression: parameterOf("selinux-type") },
    { name: "appArmorProfile", expression: parameterOf("apparmor-profile") },
    {
      name: "appArmor",
      expression: `variables.appArmorProfile.startsWith('Localhost/') ?
{'type': 'Localhost', 'localhostProfile': variables.appArmorProfile.substring(10)} :
{'type': variables.appArmorProfile}`,
    },
    { name: "metadata", expression: "dyn(object.spec.template.metadata)" },
    {
      name: "oldMetadata",
      expression: "oldObject == null ? {} : dyn(oldObject.spec.template.metadata)",
    },
    { name: "spec", expression: "dyn(object.spec.template.spec)" },
    // For fields that others added earlier, which may stay.
    {
      name: "oldSpec",
      expression: "oldObject == null ? {} : dyn(oldObject.spec.template.spec)",
    },
    {
      name: "oldContainers",
      expression:
        "variables.oldSpec.?containers.orValue([]) + variables.oldSpec.?initContainers.orValue([])",
    },
    {
      name: "containers",
      expression: `(variables.spec.containers + variables.spec.?initContainers.orValue([])).filter(c,
!(c in variables.oldContainers))`,
    },
    {
      name: "arguments",
      expression: `variables.containers.filter(c, c.name == '${names.agentContainer}').map(c,
' ' + c.?args.orValue([]).join(' ') + ' ')`,
    },
    { name: "podFields", expression: cel(template.podFields) },
    { name: "otherPodFields", expression: cel(template.otherPodFields) },
    { name: "containerFields", expression: cel(template.containerFields) },
    { name: "otherContainerFields", expression: cel(template.otherContainerFields) },
    { name: "volumes", expression: cel(template.volumes) },
    { name: "mounts", expression: cel(template.mounts) },
    { name: "environment", expression: cel(template.environment) },
    { name: "unnamed", expression: unnamedOfTemplate },
  ],
  validations: [
    {
      expression: `dyn(object.spec.selector) == ${cel({ matchLabels: names.agentLabels })}`,
      message: "spec.selector: is not the agents'",
    },
    {
      expression: `variables.spec.containers.all(c, c.name == '${names.agentContainer}' ||
  c in variables.oldSpec.?containers.orValue([])) &&
variables.spec.?initContainers.orValue([]).all(c, c in variables.oldSpec.?initContainers.orValue([]))`,
      message: "the containers are not the agents'",
    },
    {
      expression: "variables.unnamed == []",
      messageExpression: `'${annotationOf("agent-label")} and ${annotationOf("agent-annotation")} of ServiceAccount ${controller} do not name: ' +
variables.unnamed.join(', ')`,
    },
    {
      expression: `${ofPod} == []`,
      messageExpression: `'not as the agents have it: ' + ${ofPod}.join(', ')`,
    },
    {
      expression: `variables.containers.all(c, ${ofContainer} == [])`,
      messageExpression: `'not as the agents have it: ' +
variables.containers.map(c, c.name + ' ' + ${ofContainer}.join(', ')).join('; ')`,
    },
    {
      expression: "variables.containers.all(c, c.image == variables.image)",
      messageExpression: `variables.image == '' ? '${annotation("agent-image")} is missing' :
'the image is not ' + variables.image + ', which ${annotation("agent-image")} names'`,
    },
    {
      expression: `variables.spec.volumes.all(v, v in variables.volumes ||
has(v.emptyDir) && !variables.volumes.exists(one, one.name == v.name) ||
v in variables.oldSpec.?volumes.orValue([]))`,
      message: "the volumes are not the agents'",
    },
    {
      expression: `variables.containers.all(c, !has(c.volumeMounts) ||
  c.volumeMounts.all(m, m in variables.mounts[c.name] || ${before("volumeMounts", "m")}))`,
      message: "the mounts are not the agents'",
    },
    {
      expression: `variables.containers.all(c, variables.mounts[?c.name].orValue([]).all(m,
  m.name != '${cover}' || m in c.?volumeMounts.orValue([])))`,
      message: "a folder of the kubelet's directory is not covered",
    },
    {
      expression: `variables.containers.all(c, !has(c.env) || c.env.all(e,
  e in variables.environment[c.name] || ${before("env", "e")} ||
  !e.name.matches(${cel(agents.reservedVariables)}) && !e.?valueFrom.?secretKeyRef.hasValue()))`,
      message:
        "the environment has a variable that changes the agents' program, or a variable of a Secret",
    },
    {
      expression: `variables.containers.all(c, c.?resources.orValue({}).all(part,
  part in ['requests', 'limits'] && c.resources[part].all(name, name in ${cel(mostResources)} &&
    quantity(c.resources[part][name]).compareTo(quantity(${cel(mostResources)}[name])) <= 0)) ||
  variables.oldContainers.exists(old, old.name == c.name && old.?resources == c.?resources))`,
      message: `the resources exceed ${mostText}, or name another resource`,
    },
    {
      expression: `variables.arguments.all(a, a.matches(${cel(template.arguments)})) &&
variables.containers.all(c, c.?args.orValue([]).all(a, !a.contains(' ')))`,
      message: "the arguments are not those that the controller gives",
    },
    ...(["kubelet-unit", "restart-control-plane", "healthz-port"] as const).map(pinned),
    {
      expression: `variables.arguments.all(a, !a.contains(' --containerd-path ') ||
  a.contains(' --containerd-path ' + variables.containerdDirectory + ' '))`,
      message: `--containerd-path is not as in ${annotation("containerd-directory")}`,
    },
    {
      expression: `variables.arguments.all(a, (${parameterOf("healthz-address")} == '${installed["healthz-address"]}' ?
  ${cel(loopback)} : [${parameterOf("healthz-address")}]).exists(address,
  a.contains(' --healthz-address ' + address + ' ')))`,
      message: `the address of healthz is not that of ${annotation("healthz-address")}`,
    },
  ],
};

const nothing = {
  document: "",
  sources: "",
  intent: "apply",
  revision: 0,
  salt: Buffer.of(),
} as const;
const secrets = [
  globalSecret({ newest: nothing, mode: "Restart", served: "nothing", publishedAt: 0, former: "" }),
  stateSecret(readState(undefined)),
];
const types = Object.fromEntries(secrets.map(({ metadata, type }) => [metadata?.name, type]));

/** The API server sets the last of these annotations on each DaemonSet. */
const ofObjects = [
  annotations.released,
  annotations.published,
  "deprecated.daemonset.template.generation",
];

const others: Bounds = {
  name: "global-pull-secret-objects",
  why: [
    "Without this policy the controller's account could bypass the other policies: Kubernetes fills",
    "a Secret of a token's type with the token of any account, and a Role can pass on its author's",
    "rights. If a DaemonSet is deleted and its pods become orphans, another controller can adopt them",
    "and delete pods of its own instead. Other programs act on labels and annotations: Helm takes",
    "any Secret with its labels for a release, and clouds give an annotated ServiceAccount a role.",
  ],
  rules: [
    {
      group: "",
      resources: "secrets",
      operations: "CREATE UPDATE",
      names: Object.keys(types).join(" "),
    },
    {
      group: "",
      resources: "serviceaccounts",
      operations: "CREATE UPDATE",
      names: names.agentName,
    },
    {
      group: "rbac.authorization.k8s.io",
      resources: "roles rolebindings",
      operations: "CREATE UPDATE",
      names: names.agentName,
    },
    {
      group: "apps",
      resources: "daemonsets",
      operations: "CREATE UPDATE DELETE",
      names: names.agentName,
    },
    {
      group: "coordination.k8s.io",
      resources: "leases",
      operations: "CREATE UPDATE",
      names: leaseName,
    },
    {
      group: "globalpullsecret.io",
      version: "*",
      resources: "globalpullsecrets",
      operations: "CREATE UPDATE",
      names: names.globalPullSecretName,
    },
    {
      group: "globalpullsecret.io",
      version: "*",
      resources: "nodepullsecrets",
      operations: "CREATE UPDATE",
    },
  ],
  variables: [
    { name: "labels", expression: keysSet("labels", { ...names.agentLabels, ...ownerLabels }) },
    { name: "annotations", expression: keysSet("annotations", ofObjects) },
  ],
  validations: [
    {
      expression: `request.operation != 'DELETE' ||
dyn(request.options).?propagationPolicy.orValue('Background') == 'Background' &&
!dyn(request.options).?orphanDependents.orValue(false)`,
      message: "the agents' pods have to be deleted with their DaemonSet",
    },
    {
      // A NodePullSecret belongs to the Node of its name, and is deleted with it.
      expression: `object == null || ${unchanged("finalizers")} && (${unchanged("ownerReferences")} ||
  request.resource.resource == 'nodepullsecrets' &&
  dyn(object).metadata.?ownerReferences.orValue([]).all(owner, owner.apiVersion == 'v1' &&
    owner.kind == 'Node' && owner.name == object.metadata.name && !has(owner.blockOwnerDeletion)))`,
      message: "owners and finalizers of the object may not change",
    },
    noKeys("labels"),
    noKeys("annotations"),
    {
      expression: `request.resource.resource != 'secrets' || dyn(object).type == ${cel(types)}[object.metadata.name]`,
      message: "the type of the Secret is not the controller's",
    },
    {
      expression: `request.resource.resource != 'roles' || dyn(object).?rules.orValue([]) == ${cel(role.rules)}`,
      message: "the agents' Role has other rules",
    },
    {
      expression: `request.resource.resource != 'rolebindings' ||
dyn(object).roleRef == ${cel(roleBinding.roleRef)} && dyn(object).subjects == ${cel(roleBinding.subjects)}`,
      message: "the RoleBinding is not the agents'",
    },
  ],
};

/** Template of the chart → the policy and its binding. */
export const bounds = { daemonset: daemonSet, objects: others } as const;

/** File → its text: a template of the chart with a policy and its binding. */
export const boundsFiles = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(bounds).map(([name, policy]) => [
      `manifests/chart/templates/${name}-policy.yaml`,
      templateOf(policy),
    ]),
  );
