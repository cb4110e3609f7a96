/**
 * The names that agent, controller and users share. They are the product's public face: the three kubectl checks, the
 * DaemonSet's template and the agent's mounts all rest on them, so none may change without a migration.
 */

/** The only namespace that the product reads or writes in (its nodes apart). */
export const namespace = "kube-system";

/** What an administrator creates; type `kubernetes.io/dockerconfigjson`, key `.dockerconfigjson`. */
export const additionalSecretName = "additional-pull-secret";

/** The merged result, mounted by every agent. */
export const globalSecretName = "global-pull-secret";

/** One name for ServiceAccount, Role, RoleBinding and DaemonSet. */
export const syncerName = "global-pull-secret-syncer";

/** The label of the agent's pods, and the DaemonSet's (immutable) selector. */
export const syncerLabels = { name: syncerName } as const;

/** Type of both Secrets: the API server demands the key `.dockerconfigjson` and a JSON document in it. */
export const secretType = "kubernetes.io/dockerconfigjson";

/** Keys of global-pull-secret; file names in the agent's mount. */
export const secretKeys = {
  /** The merged document, canonical. The additional Secret uses the same key. */
  document: ".dockerconfigjson",
  /** A decimal integer that only grows. */
  revision: "revision",
  /** JSON object: registry → `original` | `additional`. Holds no credential. */
  sources: "sources",
} as const;

/** On the DaemonSet's pod template: the one revision that a pod of it applies. `0` means observe, touch nothing. */
export const revisionAnnotation = "global-pull-secret/revision";

/** Where the agent's container finds what it needs. The paths on the host are the controller's flags. */
export const mountPaths = {
  /** global-pull-secret as a Secret volume (whole directory, so that it follows updates). */
  secret: "/etc/global-pull-secret",
  /** The kubelet's root directory, /var/lib/kubelet unless configured. */
  kubelet: "/host/kubelet",
  /** The directory that holds system_bus_socket. */
  dbus: "/host/dbus",
  /** The kubelet reads the agent's last words here. */
  terminationLog: "/dev/termination-log",
} as const;

/**
 * How long a Ready must last until the DaemonSet counts it (minReadySeconds): right after its own restart the kubelet calls a young
 * pod Ready without a probe, until the first one, a second later. It is the last part of the trial.
 */
export const guardSeconds = 3;

/** Our own folder and files below the kubelet's root directory. */
export const nodeFiles = {
  config: "config.json",
  folder: "global-pull-secret",
  journal: "global-pull-secret/journal.json",
} as const;

/** Environment of the agent's container, filled by the downward API. */
export const agentEnvironment = {
  revision: "REVISION",
  node: "NODE_NAME",
} as const;

/** Loopback port of the agent's readiness; 10248 (the kubelet's healthz) plus 10,000, clear of the NodePort range. */
export const defaultProbePort = 20248;
