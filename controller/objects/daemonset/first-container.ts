/**
 * The init container, which looks before the agent starts. No other container ever gets a node's
 * root directory, and none where it cannot be mounted recursively read-only.
 */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { resourcesOf, type Agent } from "./agent.ts";

/** Security context of every container of ours. */
export const confined: NonNullable<V1Container["securityContext"]> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/**
 * Looks once, before the agent starts, where else the kubelet may have its credentials
 * (docs/decisions/0017). It alone has the node's root directory, read-only and for a moment: a
 * container that lives on would keep all mounts of the node busy. Node lets it open these few paths
 * only, and write to the pod's own directory. Neither keeps it from a socket (SECURITY.md).
 */
export function firstContainer(agent: Agent): V1Container {
  const { root, pod } = names.mountPaths;
  const readable = [
    ...names.credentialFiles,
    `${agent.kubeletDirectory}/${names.nodeFiles.journal}`,
  ];
  return {
    name: names.firstContainerName,
    image: agent.image,
    imagePullPolicy: "IfNotPresent",
    command: [
      "/nodejs/bin/node",
      "--max-old-space-size=32",
      "--permission",
      "--allow-fs-read=/app/hidden.cjs",
      ...readable.map((path) => `--allow-fs-read=${root}${path}`),
      `--allow-fs-write=${pod}/*`,
      "--allow-fs-write=/proc/self/coredump_filter",
      "/app/hidden.cjs",
    ],
    args: ["--kubelet-directory", agent.kubeletDirectory],
    resources: resourcesOf(agent),
    securityContext: confined,
    volumeMounts: [
      // With what is mounted below it, such as /run: readOnly alone leaves that writable.
      { name: "root", mountPath: root, readOnly: true, recursiveReadOnly: "Enabled" },
      { name: "pod", mountPath: pod },
    ],
  };
}

/** True for a pod or a template that mounts the root directory, and demands it read-only. */
export function mountsRoot(spec: V1PodSpec | undefined): boolean {
  const mounts = spec?.initContainers?.flatMap(({ volumeMounts = [] }) => volumeMounts) ?? [];
  return mounts.some(
    ({ name, recursiveReadOnly }) => name === "root" && recursiveReadOnly === "Enabled",
  );
}
