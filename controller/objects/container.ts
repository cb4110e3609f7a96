/** The containers of the agents' pods, and their volumes. */
import type {
  V1Container,
  V1ProjectedVolumeSource,
  V1SecretVolumeSource,
  V1SecurityContext,
  V1Volume,
} from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { restartOf } from "#controller/policy/policy.ts";
import { resourcesOf, type Agent, deliveryFlags } from "./agent.ts";

/**
 * Node.js flags. The first two keep V8's heap small. A 1 MiB Secret needs 12 MiB of heap, and 26
 * MiB during a rollback with the largest config.json. We set no flag that changes how V8 compiles,
 * such as --optimize-for-size: V8 would then reject Node.js's own code cache, and each start would
 * take 40 ms longer. Node.js's permission model is a second barrier: the agent can write only to
 * the listed paths, and can neither start a process nor load native code. The agent can read all of
 * the kubelet's directory that no volume covers. It must open this directory to make a rename
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
  `--allow-fs-read=${names.mountPaths.credentials}/*`,
  // `boot_id` identifies the boot. `mountinfo` shows whose directory is mounted, and its covers.
  "--allow-fs-read=/proc/sys/kernel/random/boot_id",
  "--allow-fs-read=/proc/self/mountinfo",
  // Who listens at the kubelet's healthz port.
  "--allow-fs-read=/proc/self/net/tcp",
  "--allow-fs-read=/proc/self/net/tcp6",
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.config}`,
  // The star is needed. Node.js treats a path that does not exist yet as a file, and would refuse
  // writes below this path.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.nodeFiles.folder}/*`,
  // The agent empties its credential provider's answer after a switch to another mode.
  `--allow-fs-write=${names.mountPaths.kubelet}/${names.providerFiles.answer}`,
  // The agent writes this file so that core dumps do not contain its memory.
  "--allow-fs-write=/proc/self/coredump_filter",
];

/** Flags for agents that have containerd's directory. */
const hostsFlags = [
  `--allow-fs-read=${names.mountPaths.containerd}/*`,
  `--allow-fs-read=${names.mountPaths.hosts}/*`,
  `--allow-fs-write=${names.mountPaths.hosts}/*`,
];

/** The name of the volume that covers folders. */
export const cover = "empty";

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

/**
 * The agent's container: its program, and no capability. It has no probe, because the agent reports
 * by its node's NodePullSecret. The agent reaches the API server at the address in the variables
 * KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which the kubelet adds to every container.
 */
export function container(agent: Agent): V1Container {
  return {
    name: names.agentContainer,
    image: agent.image,
    imagePullPolicy: "IfNotPresent",
    command: [
      "/nodejs/bin/node",
      ...nodeFlags,
      ...(agent.containerdDirectory === undefined ? [] : hostsFlags),
      "/app/agent.cjs",
    ],
    args: Object.entries({
      unit: agent.kubeletUnit,
      restart: restartOf(agent.delivery),
      "restart-control-plane": agent.restartControlPlane,
      ...deliveryFlags(agent.delivery),
      ...(agent.containerdDirectory && { "containerd-path": agent.containerdDirectory }),
      probation: `${agent.probationSeconds}s`,
      "healthz-port": agent.healthzPort,
      "healthz-address": agent.healthzAddress,
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
    resources: resourcesOf(agent),
    securityContext: asksSystemd(agent) ? { ...confined, ...withSystemd(agent) } : confined,
    // Shows the end of the log in the pod's status, for example if a flag cannot be used.
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [
      { name: "global-pull-secret", mountPath: names.mountPaths.secret, readOnly: true },
      { name: "credentials", mountPath: names.mountPaths.credentials, readOnly: true },
      // With HostToContainer, the kubelet's unmounts also take effect in the agent's container.
      // Without HostToContainer, the agent's copies of other pods' mounts would keep the mounted
      // devices busy.
      { name: "kubelet", mountPath: names.mountPaths.kubelet, mountPropagation: "HostToContainer" },
      ...names.coveredFolders.map((folder) => ({
        name: cover,
        mountPath: `${names.mountPaths.kubelet}/${folder}`,
        readOnly: true,
      })),
      ...(agent.containerdDirectory === undefined
        ? []
        : [
            {
              name: "containerd",
              mountPath: names.mountPaths.containerd,
              readOnly: true,
              recursiveReadOnly: "IfPossible",
            },
            { name: "hosts", mountPath: names.mountPaths.hosts },
          ]),
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
    { name: "global-pull-secret", secret },
    { name: "credentials", projected: credentials },
    { name: "kubelet", hostPath: { path: agent.kubeletDirectory, type } },
    { name: cover, emptyDir: {} },
    ...hostsVolumes(agent),
    ...(asksSystemd(agent) ? [{ name: "systemd", hostPath: { path: "/run/systemd", type } }] : []),
  ];
}

/**
 * containerd's directory, if the installer names it. Agents of every mode have it, so that each can
 * remove the lines that an agent of mode Runtime has left in a hosts.toml.
 */
function hostsVolumes({ containerdDirectory: path }: Agent): V1Volume[] {
  if (path === undefined) return [];
  return [
    { name: "containerd", hostPath: { path, type } },
    { name: "hosts", hostPath: { path: `${path}/certs.d`, type } },
  ];
}

const defaultMode = 0o400;

/**
 * The Secret, for a new node that cannot reach the API server yet: the image of kube-proxy may need
 * the very credential. It is optional, so that the agents of a cluster without the Secret run. The
 * keys are listed, so that keys of later versions reach no node.
 */
const secret: V1SecretVolumeSource = {
  secretName: names.globalSecretName,
  optional: true,
  defaultMode,
  items: [
    ...Object.values(names.secretKeys),
    ...Object.values(names.servedKeys),
    names.formerKey,
  ].map((key) => ({ key, path: key })),
};

/**
 * The agent's token, and the certificates with which the agent verifies the API server. The token
 * names the pod and its node. It is valid for an hour, and the kubelet renews it earlier.
 */
const credentials: V1ProjectedVolumeSource = {
  defaultMode,
  sources: [
    { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
  ],
};

const confined: NonNullable<V1Container["securityContext"]> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};
