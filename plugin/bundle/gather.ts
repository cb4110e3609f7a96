/**
 * Collects the product's objects for a support bundle, and lists the objects that the caller is not
 * allowed to read.
 */
import { Buffer } from "node:buffer";
import type {
  CoreV1Event,
  V1DaemonSet,
  V1Deployment,
  V1Node,
  V1Pod,
  V1Secret,
  V1ContainerState,
  V1ObjectMeta,
  V1PodTemplateSpec,
} from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import { globalSecretName, secretKeys, stateSecretName, agentName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { secretPath, sourceSecrets } from "../cluster/object.ts";
import { listOf } from "../cluster/read.ts";
import { deployment } from "../removal/objects.ts";
import { redactAll } from "./redact.ts";

type Missing = { what: string; why: string };

/**
 * Collects the bundle. Rejects only if the API server does not answer, or refuses the caller's
 * credentials with 401.
 */
export async function gather(cluster: Cluster): Promise<object> {
  const missing: Missing[] = [];
  const tried = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await read();
      if (result === undefined) missing.push({ what, why: "not found" });
      return result;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0 || error.status === 401) throw error;
      missing.push({ what, why: error.message });
      return undefined;
    }
  };
  const readObject = <T>(what: string, path: string) => tried(what, () => cluster.get<T>(path));
  const many = <T>(what: string, path: string) => tried(what, () => listOf<T>(cluster, path));

  const object = await readObject<GlobalPullSecret>("globalpullsecret", globalPullSecretPath);
  const [controller, agents, pods, nodes, events] = await Promise.all([
    readObject<V1Deployment>("deployment", deployment.path),
    readObject<V1DaemonSet>("daemonset", owned.daemonSet),
    many<V1Pod>("pods", collections.pods),
    many<V1Node>("nodes", collections.nodes),
    many<CoreV1Event>("events", collections.events),
  ]);
  const nodePullSecrets = await many<NodePullSecret>(
    "nodepullsecrets",
    collections.nodePullSecrets,
  );
  const names = [
    ...sourceSecrets(object).map(({ secret }) => secret),
    globalSecretName,
    stateSecretName,
  ];
  const secrets = await Promise.all(
    names.map((name) => readObject<V1Secret>(`secret ${name}`, secretPath(name))),
  );
  const ours = new Set([...names, "cluster"]);
  const conditions = object?.status?.conditions ?? [];
  const bundle = {
    summary: {
      conditions: conditions.map(({ type, status, reason }) => `${type}=${status} (${reason})`),
      nodes: object?.status?.nodes,
      kubelets: countOf(nodes?.map(({ status }) => status?.nodeInfo?.kubeletVersion ?? "")),
    },
    missing,
    globalPullSecret: object && objectOf(object),
    deployment: controller && deploymentOf(controller),
    daemonSet: agents && daemonSetOf(agents),
    pods: pods?.filter(({ metadata }) => isOfOurs(metadata?.name)).map(podOf),
    nodes: nodes?.map(nodeOf),
    nodePullSecrets: nodePullSecrets?.map(nodePullSecretOf),
    events: events
      ?.filter(({ involvedObject: { name = "" } }) => ours.has(name) || isOfOurs(name))
      .map(eventOf),
    secrets: secrets.flatMap((secret) => (secret === undefined ? [] : [secretOf(secret)])),
  };
  return redactAll(bundle, {
    names: namesIn(bundle),
    secrets: secrets.flatMap((secret) => (secret === undefined ? [] : credentialsOf(secret))),
  });
}

/** Counts how often each text occurs. */
function countOf(texts: readonly string[] = []): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}

const isOfOurs = (name = ""): boolean =>
  [agentName, fieldManager].some((prefix) => name.startsWith(prefix));

type Bundle = Readonly<{
  globalPullSecret: ReturnType<typeof objectOf> | undefined;
  pods: readonly ReturnType<typeof podOf>[] | undefined;
  nodes: readonly ReturnType<typeof nodeOf>[] | undefined;
  nodePullSecrets: readonly ReturnType<typeof nodePullSecretOf>[] | undefined;
  events: readonly ReturnType<typeof eventOf>[] | undefined;
}>;

/**
 * Names that kubelets and the API server use. These names are not credentials, so we do not redact
 * them.
 */
function namesIn({
  globalPullSecret,
  pods = [],
  nodes = [],
  nodePullSecrets = [],
  events = [],
}: Bundle): ReadonlySet<string> {
  const names = [
    ...pods.flatMap(({ metadata, containers }) => [
      metadata.name,
      ...containers.map((c) => c.image),
    ]),
    ...nodes.flatMap((node) => Object.values(node)),
    ...nodePullSecrets.map(({ name }) => name),
    ...events.map(({ about }) => about),
    // A failed node is not in `nodes` if it was deleted, or if the caller is not allowed to list
    // nodes.
    ...(globalPullSecret?.status?.failures ?? []).map(({ node }) => node),
  ];
  const texts = names.filter((text) => typeof text === "string");
  return new Set([...texts, ...texts.flatMap((text) => text.split(/[\s()]+/))]);
}

/**
 * The texts to redact: the Secret's document in base64, and each password in it, as plain text and
 * as `auth`.
 */
function credentialsOf({ data = {} }: V1Secret): string[] {
  return Object.entries(data).flatMap(([key, encoded]) => {
    const bytes = Buffer.from(encoded, "base64");
    if (key !== secretKeys.document) return [];
    const parsed = parse(bytes, { name: key, role: "original" });
    const each = parsed.ok ? parsed.entries : [];
    const texts = each.flatMap(({ credential }) => [credential.password, credential.encode()]);
    return [encoded, ...texts].filter((text) => text.length >= 4);
  });
}

/**
 * Keeps only our own annotations. Other annotations can contain anything: kubectl's
 * last-applied-configuration contains the whole object.
 */
function metadataOf({ name, generation, creationTimestamp, annotations }: V1ObjectMeta = {}) {
  const own = Object.entries(annotations ?? {}).filter(([key]) =>
    key.startsWith("globalpullsecret.io/"),
  );
  return { name, generation, creationTimestamp, annotations: Object.fromEntries(own) };
}

const objectOf = ({ metadata, spec, status }: GlobalPullSecret) => ({
  metadata: metadataOf(metadata),
  spec,
  status,
});

/** A pod template. It shows the names of environment variables, without their values. */
const templateOf = ({ metadata, spec }: V1PodTemplateSpec) => ({
  metadata: metadataOf(metadata),
  nodeSelector: spec?.nodeSelector,
  containers: [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(
    ({ name, image, command, args, env = [], resources }) => ({
      name,
      image,
      command,
      args,
      env: env.map((variable) => variable.name),
      resources,
    }),
  ),
});

const deploymentOf = ({ metadata, spec, status }: V1Deployment) => ({
  metadata: metadataOf(metadata),
  replicas: spec?.replicas,
  template: spec && templateOf(spec.template),
  status,
});

const daemonSetOf = ({ metadata, spec, status }: V1DaemonSet) => ({
  metadata: metadataOf(metadata),
  updateStrategy: spec?.updateStrategy,
  minReadySeconds: spec?.minReadySeconds,
  template: spec && templateOf(spec.template),
  status,
});

const stateOf = ({ running, waiting, terminated }: V1ContainerState = {}) => ({
  ...(running && { running: { startedAt: running.startedAt } }),
  ...(waiting && { waiting: { reason: waiting.reason, message: waiting.message } }),
  ...(terminated && {
    terminated: {
      exitCode: terminated.exitCode,
      reason: terminated.reason,
      message: terminated.message,
      finishedAt: terminated.finishedAt,
    },
  }),
});

const podOf = ({ metadata, spec, status }: V1Pod) => ({
  metadata: metadataOf(metadata),
  node: spec?.nodeName,
  phase: status?.phase,
  reason: status?.reason,
  message: status?.message,
  conditions: status?.conditions,
  containers: [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
    ({ name, image, ready, restartCount, state, lastState }) => ({
      name,
      image,
      ready,
      restartCount,
      state: stateOf(state),
      lastState: stateOf(lastState),
    }),
  ),
});

const nodeOf = ({ metadata, spec, status }: V1Node) => ({
  name: metadata?.name,
  unschedulable: spec?.unschedulable,
  ready: status?.conditions?.find(({ type }) => type === "Ready")?.status,
  kubeletVersion: status?.nodeInfo?.kubeletVersion,
  containerRuntimeVersion: status?.nodeInfo?.containerRuntimeVersion,
  osImage: status?.nodeInfo?.osImage,
  kernelVersion: status?.nodeInfo?.kernelVersion,
  architecture: status?.nodeInfo?.architecture,
});

/** A NodePullSecret without its digests. */
const nodePullSecretOf = ({ metadata, spec, status }: NodePullSecret) => ({
  name: metadata.name,
  spec: { revision: spec.revision, attempt: spec.attempt },
  status: status && { ...status, digest: undefined },
});

const eventOf = (event: CoreV1Event) => ({
  about: `${event.involvedObject.kind}/${event.involvedObject.name}`,
  type: event.type,
  reason: event.reason,
  message: event.message,
  count: event.series?.count ?? event.count,
  last: event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime,
});

/** A Secret without its content and without the size of its content. */
const secretOf = ({ metadata, type, data }: V1Secret) => ({
  name: metadata?.name,
  type,
  keys: Object.keys(data ?? {}),
});
