/** The agent's container, and the volumes that its pods mount. */
import type {
  V1Container,
  V1PodSpec,
  V1ProjectedVolumeSource,
  V1SecurityContext,
  V1Volume,
} from "@kubernetes/client-node";
import { grantAnnotations, grantFiles } from "#contract/grant.ts";
import * as names from "#contract/names.ts";
import { restartOf } from "#controller/policy/delivery.ts";
import { resourcesOf, type Agent } from "./agent.ts";
import { providerFlags } from "./delivery.ts";
import { confined } from "./first-container.ts";

/**
 * Node's flags. They keep V8's heap small: a 1 MiB Secret needs 12 MiB of it, and 26 MiB with the
 * largest config.json beside it, rolled back. No flag changes how V8 compiles, such as
 * --optimize-for-size, because Node's own code cache is refused then (docs/decisions/0007). Node's
 * permission model is a second barrier: the agent may write the kubelet's file, our folder beside
 * it and its termination message, start no process and load no native code. It may read all of the
 * kubelet's directory: a rename is durable only when the directory is synced, which takes opening
 * it, and Node grants a directory with everything below it or not at all.
 */
const nodeFlags = [
  "--max-old-space-size=32",
  "--max-semi-space-size=1",
  "--permission",
  "--allow-fs-read=/app/agent.cjs",
  `--allow-fs-read=${names.mountPaths.secret}/*`,
  `--allow-fs-read=${names.mountPaths.kubelet}/*`,
  `--allow-fs-read=${names.mountPaths.systemd}/private`,
  `--allow-fs-read=${names.mountPaths.pod}/*`,
  // The clock that all processes of a boot share, and whether config.json is a mount of its own.
  "--allow-fs-read=/proc/sys/kernel/random/boot_id",
  "--allow-fs-read=/proc/self/mountinfo",
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.config}`,
  // The star is needed: Node takes a path that does not exist yet for a file, and would refuse
  // writes below it.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.folder}/*`,
  // A provider's answer is emptied once another mode is in force.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.providerFiles.answer}`,
  `--allow-fs-write=${names.mountPaths.terminationLog}`,
  `--allow-fs-write=${names.mountPaths.pod}/*`,
  // This keeps memory out of core files.
  "--allow-fs-write=/proc/self/coredump_filter",
];

/**
 * Variables that make the C library return freed memory: one arena; pages of their own for buffers
 * above 128 KiB (glibc would raise that bound to the largest it has seen); one thread for files.
 * With a 1 MiB Secret this saves an idle agent 4 MiB.
 */
const memoryEnvironment = Object.entries({
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
  UV_THREADPOOL_SIZE: "1",
}).map(([name, value]) => ({ name, value }));

/** The container of the agent: its program, its probe, and no capability. */
export function container(agent: Agent, digest: string): V1Container {
  return {
    name: names.agentContainer,
    image: agent.image,
    imagePullPolicy: "IfNotPresent",
    command: ["/nodejs/bin/node", ...nodeFlags, "/app/agent.cjs"],
    args: Object.entries({
      template: digest,
      unit: agent.kubeletUnit,
      restart: restartOf(agent.delivery),
      "restart-control-plane": agent.restartControlPlane,
      ...providerFlags(agent.delivery),
      "hidden-files": agent.hiddenFiles,
      probation: `${agent.probationSeconds}s`,
      "healthz-port": agent.healthzPort,
      "healthz-address": agent.healthzAddress,
      "probe-port": agent.probePort,
    }).flatMap(([name, value]) => [`--${name}`, String(value)]),
    env: [
      {
        name: names.agentEnvironment.node,
        valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } },
      },
      {
        name: names.agentEnvironment.uid,
        valueFrom: { fieldRef: { fieldPath: "metadata.uid" } },
      },
      ...memoryEnvironment,
    ],
    // The period is 1 s because of names.guardSeconds.
    readinessProbe: {
      // The path names the template. Otherwise a pod that waits for the port would be called Ready
      // for what the pod before it has done.
      httpGet: { host: "127.0.0.1", path: `/readyz?template=${digest}`, port: agent.probePort },
      // A probe before the agent listens fails, and its Event and status would take up the moment
      // in which the kubelet is restarted.
      initialDelaySeconds: 1,
      periodSeconds: 1,
      failureThreshold: 1,
      timeoutSeconds: 1,
    },
    resources: resourcesOf(agent),
    securityContext: asksSystemd(agent) ? { ...confined, ...withSystemd(agent) } : confined,
    terminationMessagePath: names.mountPaths.terminationLog,
    terminationMessagePolicy: "File",
    volumeMounts: [
      { name: "global-pull-secret", mountPath: names.mountPaths.secret, readOnly: true },
      // HostToContainer lets the agent see the kubelet's unmounts. Without it, its own copies of
      // other pods' mounts would keep their devices busy.
      { name: "kubelet", mountPath: names.mountPaths.kubelet, mountPropagation: "HostToContainer" },
      ...(asksSystemd(agent)
        ? [
            {
              name: "systemd",
              mountPath: names.mountPaths.systemd,
              readOnly: true,
              // A socket needs no write, and units may have mounts of their own below.
              recursiveReadOnly: "IfPossible",
            },
          ]
        : []),
      { name: "pod", mountPath: names.mountPaths.pod },
    ],
  };
}

/** The runtime's AppArmor profile may keep a container from systemd; nothing else needs another. */
function withSystemd({ appArmorProfile }: Agent): V1SecurityContext {
  const [type = "", localhostProfile] = appArmorProfile.split(/\/(.*)/s);
  return { appArmorProfile: { type, ...(localhostProfile && { localhostProfile }) } };
}

/**
 * True when agents get systemd's socket. Access to it as root is root on the node, so agents that
 * restart nothing have none, and run where there is no systemd.
 */
function asksSystemd(agent: Agent): boolean {
  return restartOf(agent.delivery) === "Always";
}

/**
 * A missing directory would keep the pod from its start, and only an Event would name it. An agent
 * with an empty one reports what is missing: GPS261, GPS262.
 */
const type = "DirectoryOrCreate";

/**
 * Volumes of the agents' pods. They are directories, never single files: when a mounted file is
 * replaced, the mount keeps the old one for ever.
 */
export function volumes(agent: Agent): V1Volume[] {
  return [
    { name: "global-pull-secret", projected: mounted },
    { name: "kubelet", hostPath: { path: agent.kubeletDirectory, type } },
    ...(asksSystemd(agent) ? [{ name: "systemd", hostPath: { path: "/run/systemd", type } }] : []),
    // Holds what the init container saw, and the mark that this pod has ended once to write its
    // termination message.
    { name: "pod", emptyDir: { medium: "Memory", sizeLimit: "64Ki" } },
    ...(agent.hiddenFiles === "Look"
      ? [{ name: "root", hostPath: { path: "/", type: "Directory" } }]
      : []),
  ];
}

/** The kubelet's directory on the node, as a pod or a template mounts it. */
export function kubeletDirectoryOf(spec: V1PodSpec | undefined): string | undefined {
  return spec?.volumes?.find(({ name }) => name === "kubelet")?.hostPath?.path;
}

/**
 * The Secret and the pod's grant, in one volume: the kubelet changes both by one swap, at once when
 * an annotation changes. A variable would keep the value of the container's start. The mounted keys
 * are named, so that keys which a later version adds reach no node.
 */
const mounted: V1ProjectedVolumeSource = {
  defaultMode: 0o400,
  sources: [
    {
      secret: {
        name: names.globalSecretName,
        items: [...Object.values(names.secretKeys), ...Object.values(names.servedKeys)].map(
          (key) => ({ key, path: key }),
        ),
      },
    },
    {
      downwardAPI: {
        items: Object.entries(grantAnnotations).map(([part, annotation]) => ({
          path: grantFiles[part as keyof typeof grantFiles],
          fieldRef: { fieldPath: `metadata.annotations['${annotation}']` },
        })),
      },
    },
  ],
};
