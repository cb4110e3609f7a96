/**
 * Selects the fields of objects that a support bundle shows. We list these fields by name, so that
 * the bundle never shows an unexpected field. Pure.
 */
import type {
  CoreV1Event,
  V1ContainerState,
  V1DaemonSet,
  V1Deployment,
  V1Node,
  V1ObjectMeta,
  V1Pod,
  V1PodTemplateSpec,
  V1Secret,
} from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

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

export const objectOf = ({ metadata, spec, status }: GlobalPullSecret) => ({
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
      env: env.map((one) => one.name),
      resources,
    }),
  ),
});

export const deploymentOf = ({ metadata, spec, status }: V1Deployment) => ({
  metadata: metadataOf(metadata),
  replicas: spec?.replicas,
  template: spec && templateOf(spec.template),
  status,
});

export const daemonSetOf = ({ metadata, spec, status }: V1DaemonSet) => ({
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

export const podOf = ({ metadata, spec, status }: V1Pod) => ({
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

export const nodeOf = ({ metadata, spec, status }: V1Node) => ({
  name: metadata?.name,
  unschedulable: spec?.unschedulable,
  ready: status?.conditions?.find(({ type }) => type === "Ready")?.status,
  kubeletVersion: status?.nodeInfo?.kubeletVersion,
  containerRuntimeVersion: status?.nodeInfo?.containerRuntimeVersion,
  osImage: status?.nodeInfo?.osImage,
  kernelVersion: status?.nodeInfo?.kernelVersion,
  architecture: status?.nodeInfo?.architecture,
});

export const eventOf = (one: CoreV1Event) => ({
  about: `${one.involvedObject.kind}/${one.involvedObject.name}`,
  type: one.type,
  reason: one.reason,
  message: one.message,
  count: one.series?.count ?? one.count,
  last: one.series?.lastObservedTime ?? one.lastTimestamp ?? one.eventTime,
});

/** A Secret without its content and without the size of its content. */
export const secretOf = ({ metadata, type, data }: V1Secret) => ({
  name: metadata?.name,
  type,
  keys: Object.keys(data ?? {}),
});
