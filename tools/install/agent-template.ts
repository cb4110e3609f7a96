/**
 * What the pod templates of all agents have in common, as values that a policy can hold an object
 * against.
 */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import { daemonSet } from "#controller/objects/daemonset/daemonset.ts";
import { allModes, deliveryOf } from "#controller/policy/delivery.ts";
import { parseConfig } from "#controller/policy/flags/config.ts";
import { policyOf } from "#controller/policy/spec/spec.ts";

/** Text that stands for what an installer decides → the policy's variable with its value. */
export const places = {
  "/KUBELET-DIRECTORY": "variables.kubeletDirectory",
  "/DBUS-DIRECTORY": "variables.dbusDirectory",
  "KUBELET-UNIT": "variables.kubeletUnit",
} as const;

const [kubeletDirectory, dbusDirectory, kubeletUnit] = Object.keys(places) as [
  string,
  string,
  string,
];

/**
 * Fields of the pods that installers, and other people's admission, set as they like: none of them
 * decides what runs, as whom, and what it reaches.
 */
const freeOfPod = [
  "affinity",
  "dnsConfig",
  "dnsPolicy",
  "imagePullSecrets",
  "nodeSelector",
  "preemptionPolicy",
  "priority",
  "priorityClassName",
  "restartPolicy",
  "schedulerName",
  "terminationGracePeriodSeconds",
  "tolerations",
  "topologySpreadConstraints",
];

const freeOfContainer = ["imagePullPolicy", "resizePolicy", "resources"];

/** Fields with a rule of their own. */
const judged = {
  pod: ["containers", "initContainers", "volumes"],
  container: ["env", "image", "volumeMounts"],
  agent: ["args", "readinessProbe"],
} as const;

/** Variables that platforms add to every container. The agent asks no proxy. */
export const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** The API server adds these to a container, a probe and a request. */
const completedContainer = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
};
const completedProbe = ["successThreshold"];
const completedHttpGet = ["scheme"];

type Fields = Readonly<Record<string, unknown>>;
/** Field → the values that it may have. */
type Pins = Readonly<Record<string, readonly unknown[]>>;

export type AgentTemplate = Readonly<{
  podFields: Pins;
  otherPodFields: readonly string[];
  /** By the container's name. */
  containerFields: Readonly<Record<string, Pins>>;
  otherContainerFields: Readonly<Record<string, readonly string[]>>;
  mounts: Readonly<Record<string, readonly unknown[]>>;
  volumes: readonly unknown[];
  environment: readonly unknown[];
  probe: Readonly<{ fields: readonly string[]; httpGet: readonly string[]; host: string }>;
  /** The agent's flags, and where the unit's stands among its arguments. */
  arguments: Readonly<{ flags: readonly string[]; at: number; flag: string }>;
}>;

export function template(): AgentTemplate {
  const specs = variants();
  const containers = Map.groupBy(
    specs
      .flatMap((spec) => [...spec.containers, ...(spec.initContainers ?? [])])
      .map((one) => Object.assign({}, completedContainer, one)),
    ({ name }) => name,
  );
  const agent = containers.get(names.agentContainer) ?? [];
  const byName = <Value>(value: (all: readonly V1Container[], name: string) => Value) =>
    Object.fromEntries([...containers].map(([name, all]) => [name, value(all, name)]));
  const judgedOf = (name: string): readonly string[] =>
    name === names.agentContainer ? [...judged.container, ...judged.agent] : judged.container;
  const { httpGet = {}, ...probe } = agent[0]?.readinessProbe ?? {};
  const get = httpGet as Fields;
  return {
    podFields: pins(specs, [...freeOfPod, ...judged.pod]),
    // The API server writes serviceAccount as serviceAccountName, which is pinned.
    otherPodFields: [...freeOfPod, ...judged.pod, "serviceAccount"],
    containerFields: byName((all, name) => pins(all, [...freeOfContainer, ...judgedOf(name)])),
    otherContainerFields: byName((_, name) => [...freeOfContainer, ...judgedOf(name)]),
    mounts: byName((all) => distinct(all.flatMap(({ volumeMounts = [] }) => volumeMounts))),
    volumes: distinct(specs.flatMap(({ volumes = [] }) => volumes)),
    environment: distinct(agent.flatMap(({ env = [] }) => env)),
    probe: {
      fields: ["httpGet", ...Object.keys(probe), ...completedProbe],
      httpGet: [...Object.keys(get), ...completedHttpGet],
      host: String(get["host"]),
    },
    arguments: placeOf(
      kubeletUnit,
      agent.map(({ args = [] }) => args),
    ),
  };
}

/** The agents as each mode and each choice of an installer makes them. */
function variants(): V1PodSpec[] {
  const parsed = parseConfig([]);
  const made = parsed.ok && policyOf(parsed.value.installed, {});
  if (made === false || !made.ok) throw new Error("the defaults are refused");
  const { agent, rollout } = made.policy;
  const installed = {
    kubeletDirectory,
    dbusDirectory,
    kubeletUnit,
    image: "image",
    imagePullSecrets: ["pull-secret"],
    probationSeconds: rollout.probationSeconds,
  };
  const choices = ["Look", "Ignore"] as const satisfies readonly Agent["hiddenFiles"][];
  return allModes.flatMap((mode) =>
    choices.flatMap((hiddenFiles) => {
      const delivery = deliveryOf({ mode }, mode);
      const made = daemonSet({ ...agent, ...installed, delivery, hiddenFiles });
      return made.spec?.template.spec ?? [];
    }),
  );
}

/** Every field but these, which all of the objects have to have, with its values. */
function pins(objects: readonly object[], others: readonly string[]): Pins {
  const all = objects as readonly Fields[];
  const fields = [...new Set(all.flatMap(Object.keys))].filter((field) => !others.includes(field));
  const sometimes = fields.filter((field) => all.some((one) => one[field] === undefined));
  if (sometimes.length > 0) throw new Error(`${sometimes.join(", ")}: some agents lack it`);
  return Object.fromEntries(
    fields.toSorted().map((field) => [field, distinct(all.map((one) => one[field]))]),
  );
}

/** The values as the API server completes them, each once. */
function distinct(values: readonly unknown[]): readonly unknown[] {
  const texts = values.map((one) => JSON.stringify(completed(one)));
  return [...new Set(texts)].map((text) => JSON.parse(text) as unknown);
}

function completed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(completed);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, one]) => [name, completed(one)] as const);
  return { ...("fieldPath" in value && { apiVersion: "v1" }), ...Object.fromEntries(fields) };
}

/** The place of the flag before this value, which is the same in all of them. */
function placeOf(value: string, all: readonly (readonly string[])[]): AgentTemplate["arguments"] {
  const [at = -1, ...more] = new Set(all.map((args) => args.indexOf(value) - 1));
  const flag = all[0]?.[at];
  if (flag === undefined || more.length > 0) throw new Error(`${value}: has no place of its own`);
  // Each flag is followed by its value.
  const flags = new Set(all.flatMap((args) => args.filter((_, index) => index % 2 === 0)));
  return { flags: [...flags], at, flag };
}
