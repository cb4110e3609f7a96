/** The containers of the agents' pods, and their volumes. */
import type {
  V1Container,
  V1ProjectedVolumeSource,
  V1SecurityContext,
  V1Volume,
} from "@kubernetes/client-node";
import { grantAnnotations, grantFiles } from "#contract/grant.ts";
import * as names from "#contract/names.ts";
import { restartOf } from "#controller/policy/policy.ts";
import { resourcesOf, type Agent, providerFlags } from "./agent.ts";

/**
 * Node.js flags. The first two keep V8's heap small. A 1 MiB Secret needs 12 MiB of heap, and 26
 * MiB during a rollback with the largest config.json. We set no flag that changes how V8 compiles,
 * such as --optimize-for-size, because V8 would then reject Node.js's own code cache
 * (docs/inside/decisions/agent-cost.md). Node.js's permission model is a second barrier: the agent
 * can write only to the listed paths, and can neither start a process nor load native code. The
 * agent can read all of the kubelet's directory. It must open this directory to make a rename
 * durable, and Node.js allows a directory only with everything below it.
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
  // `boot_id` identifies the boot. `mountinfo` shows whether config.json is itself a mount.
  "--allow-fs-read=/proc/sys/kernel/random/boot_id",
  "--allow-fs-read=/proc/self/mountinfo",
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.config}`,
  // The star is needed. Node.js treats a path that does not exist yet as a file, and would refuse
  // writes below this path.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.folder}/*`,
  // The agent empties its credential provider's answer after a switch to another mode.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.providerFiles.answer}`,
  `--allow-fs-write=${names.mountPaths.terminationLog}`,
  `--allow-fs-write=${names.mountPaths.pod}/*`,
  // The agent writes this file so that core dumps do not contain its memory.
  "--allow-fs-write=/proc/self/coredump_filter",
];

/**
 * Variables that make the C library return freed memory. They set one arena, separate pages for
 * buffers above 128 KiB (a limit that glibc would otherwise raise), and one thread for files. With
 * a 1 MiB Secret, these settings save an idle agent 4 MiB.
 */
const memoryEnvironment = Object.entries({
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
  UV_THREADPOOL_SIZE: "1",
}).map(([name, value]) => ({ name, value }));

/** The agent's container: its program, its probe, and no capability. */
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
    // With a period of 1 s, the kubelet's first probe comes before names.guardSeconds have passed.
    readinessProbe: {
      // The path names the template. Without the name, the previous pod's agent could answer the
      // probe of a pod that still waits for the port.
      httpGet: { host: "127.0.0.1", path: `/readyz?template=${digest}`, port: agent.probePort },
      // A probe before the agent listens would fail. The Event and the status update of this
      // failure would delay the restart of the kubelet.
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
      // With HostToContainer, the kubelet's unmounts also take effect in the agent's container.
      // Without HostToContainer, the agent's copies of other pods' mounts would keep the mounted
      // devices busy.
      { name: "kubelet", mountPath: names.mountPaths.kubelet, mountPropagation: "HostToContainer" },
      ...(asksSystemd(agent)
        ? [
            {
              name: "systemd",
              mountPath: names.mountPaths.systemd,
              readOnly: true,
              // Recursive, because units can have their own mounts below this directory. A
              // connection to a socket needs no write access, so the agent can still reach systemd.
              recursiveReadOnly: "IfPossible",
            },
          ]
        : []),
      { name: "pod", mountPath: names.mountPaths.pod },
    ],
  };
}

/**
 * The AppArmor profile of agents that use systemd's socket, because the runtime's own profile can
 * deny access to systemd. Other agents keep the runtime's profile.
 */
function withSystemd({ appArmorProfile }: Agent): V1SecurityContext {
  const [type = "", localhostProfile] = appArmorProfile.split(/\/(.*)/s);
  return { appArmorProfile: { type, ...(localhostProfile && { localhostProfile }) } };
}

/**
 * True when agents get systemd's socket. With this socket, root in the container has root's rights
 * on the node. Agents that restart nothing therefore do not get the socket, and also run on nodes
 * without systemd.
 */
function asksSystemd(agent: Agent): boolean {
  return restartOf(agent.delivery) === "Always";
}

/**
 * With `Directory`, a missing directory would keep the pod from starting, and only an Event would
 * report the reason. With this type, the kubelet creates the directory, and the agent itself
 * reports what is missing: GPS261, GPS262.
 */
const type = "DirectoryOrCreate";

/**
 * Volumes of the agents' pods. They are directories and never single files, because when a file is
 * replaced, its mount still shows the old file.
 */
export function volumes(agent: Agent): V1Volume[] {
  return [
    { name: "global-pull-secret", projected: mounted },
    { name: "kubelet", hostPath: { path: agent.kubeletDirectory, type } },
    ...(asksSystemd(agent) ? [{ name: "systemd", hostPath: { path: "/run/systemd", type } }] : []),
    // Contains a marker file after this pod's agent has exited once to write its termination
    // message.
    { name: "pod", emptyDir: { medium: "Memory", sizeLimit: "64Ki" } },
  ];
}

/**
 * The Secret and the pod's grant in one volume. The kubelet replaces both in one step, and does so
 * immediately when an annotation changes. An environment variable would keep its value from the
 * container's start. The keys are listed, so that keys of later versions reach no node.
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

const confined: NonNullable<V1Container["securityContext"]> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};
