/** The values that an admission policy allows in the agents' pod templates. */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { deliveryOf } from "#controller/policy/policy.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { policyOf } from "#controller/policy/spec.ts";

const kubeletDirectory = "/KUBELET-DIRECTORY";
const containerdDirectory = "/CONTAINERD-DIRECTORY";
const seLinuxType = "SELINUX-TYPE";
const appArmorProfile = "APPARMOR-PROFILE";

/**
 * Placeholder of a value that the installer or the agent's arguments decide → the value's CEL
 * expression in the policy.
 */
export const places = {
  [kubeletDirectory]: "variables.kubeletDirectory",
  // Before the directory, which is a part of it. The API server refuses an empty path.
  [`${containerdDirectory}/certs.d`]:
    "(variables.containerdDirectory == '' ? '' : variables.containerdDirectory + '/certs.d')",
  [containerdDirectory]: "variables.containerdDirectory",
  [seLinuxType]: "variables.seLinuxType",
  [JSON.stringify({ type: appArmorProfile })]: "variables.appArmor",
} as const;

/**
 * Fields of the agents' pods that the policy does not restrict, because none of them changes which
 * program runs, its user, or its access. Installers and other admission plugins can set them.
 */
const freeOfPod = [
  "affinity",
  "imagePullSecrets",
  "nodeSelector",
  "priorityClassName",
  "tolerations",
];

const freeOfContainer = ["imagePullPolicy"];

/** Fields that have their own rule in the policy. */
const judged = {
  pod: ["containers", "initContainers", "volumes"],
  container: ["env", "image", "resources", "volumeMounts"],
  agent: ["args"],
} as const;

/**
 * Pattern for names of variables that change which program the agent runs, or what it does: those
 * of Node.js and its libraries, of the dynamic linker and the C library, and the agent's own.
 * Admission may add other variables, such as a proxy's address, which the agent does not use.
 */
export const reservedVariables =
  "^(NODE_|UV_|CHOKIDAR_|OPENSSL_|SSL_|LD_|MALLOC_|GLIBC_|GCONV_|LOCPATH$|LOCALDOMAIN$|" +
  "RES_OPTIONS$|HOSTALIASES$|KUBERNETES_|POD_UID$)";

/** Fields that the API server adds to a pod and a container. */
const completedPod = { restartPolicy: "Always", schedulerName: "default-scheduler" };
const completedContainer = { terminationMessagePath: "/dev/termination-log" };

type Fields = Readonly<Record<string, unknown>>;
/** Field → the values that the policy allows. */
type Pins = Readonly<Record<string, readonly unknown[]>>;

export type AgentTemplate = Readonly<{
  podFields: Pins;
  otherPodFields: readonly string[];
  /** Name of the container → its pinned fields. */
  containerFields: Readonly<Record<string, Pins>>;
  otherContainerFields: Readonly<Record<string, readonly string[]>>;
  mounts: Readonly<Record<string, readonly unknown[]>>;
  volumes: readonly unknown[];
  environment: Readonly<Record<string, readonly unknown[]>>;
  /** Pattern for the agent's arguments, each between spaces, with the flags in a fixed order. */
  arguments: string;
}>;

export function template(): AgentTemplate {
  const specs = variants();
  const containers = Map.groupBy(
    specs
      .flatMap((spec) => spec.containers)
      .map((container) => Object.assign({}, completedContainer, container)),
    ({ name }) => name,
  );
  const agent = containers.get(names.agentContainer) ?? [];
  const byName = <Value>(value: (all: readonly V1Container[], name: string) => Value) =>
    Object.fromEntries([...containers].map(([name, all]) => [name, value(all, name)]));
  const judgedOf = (name: string): readonly string[] =>
    name === names.agentContainer ? [...judged.container, ...judged.agent] : judged.container;
  return {
    podFields: pins(specs, [...freeOfPod, ...judged.pod]),
    // The API server gives serviceAccount the value of serviceAccountName, which is pinned.
    otherPodFields: [...freeOfPod, ...judged.pod, "serviceAccount"],
    containerFields: byName((all, name) => pins(all, [...freeOfContainer, ...judgedOf(name)])),
    otherContainerFields: byName((_, name) => [...freeOfContainer, ...judgedOf(name)]),
    mounts: byName((all) => distinct(all.flatMap(({ volumeMounts = [] }) => volumeMounts))),
    volumes: distinct(specs.flatMap(({ volumes = [] }) => volumes)),
    environment: byName((all) => distinct(all.flatMap(({ env = [] }) => env))),
    arguments: patternOf(agent.map(({ args = [] }) => args)),
  };
}

/** The agents' pods for each mode and each choice of an installer. */
function variants(): V1PodSpec[] {
  const parsed = parseConfig([]);
  const result = parsed.ok && policyOf(parsed.value.installed, {});
  if (result === false || !result.ok) throw new Error("the defaults are refused");
  const { agent, rollout } = result.policy;
  const installed = {
    kubeletDirectory,
    appArmorProfile,
    image: "image",
    imagePullSecrets: ["pull-secret"],
    probationSeconds: rollout.probationSeconds,
  };
  // With an empty type, the container gets the runtime's SELinux type, which allows less than ours.
  const choices: readonly Partial<Agent>[] = [{ seLinuxType }, { seLinuxType: "" }].flatMap(
    (choice) => [choice, { ...choice, containerdDirectory }],
  );
  return names.deliveryModes.flatMap((mode) =>
    choices.flatMap((choice) => {
      const delivery = deliveryOf({ mode }, mode);
      const { spec } = daemonSet({ ...agent, ...installed, ...choice, delivery }, 1);
      return spec?.template.spec ? Object.assign(spec.template.spec, completedPod) : [];
    }),
  );
}

/** The values of every field except `others`. Throws if an object lacks such a field. */
function pins(objects: readonly object[], others: readonly string[]): Pins {
  const all = objects as readonly Fields[];
  const fields = [...new Set(all.flatMap(Object.keys))].filter((field) => !others.includes(field));
  const sometimes = fields.filter((field) => all.some((object) => object[field] === undefined));
  if (sometimes.length > 0) throw new Error(`${sometimes.join(", ")}: some agents lack it`);
  return Object.fromEntries(
    fields.toSorted().map((field) => [field, distinct(all.map((object) => object[field]))]),
  );
}

/** The values, each with the fields that the API server adds, and without duplicates. */
function distinct(values: readonly unknown[]): readonly unknown[] {
  const texts = values.map((value) => JSON.stringify(completed(value)));
  return [...new Set(texts)].map((text) => JSON.parse(text) as unknown);
}

function completed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(completed);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, member]) => [name, completed(member)] as const);
  return { ...("fieldPath" in value && { apiVersion: "v1" }), ...Object.fromEntries(fields) };
}

/** Each flag has a value, without `$`, so that the kubelet expands no variable. */
function patternOf(all: readonly (readonly string[])[]): string {
  const flags = all.map((args) => args.filter((_, index) => index % 2 === 0));
  const texts = flags.map((ours) => ours.map((flag) => `${flag} [^ $]+`).join(" "));
  return `^ (?:${[...new Set(texts)].join("|")}) $`;
}
