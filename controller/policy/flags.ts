/** The controller's flags, each with its default and what it is for. */
import { defaultProbePort, namespace } from "#contract/names.ts";
import { usage as usageOf, type Table } from "#contract/table.ts";
import {
  address,
  auto,
  directory,
  duration,
  integer,
  oneOf,
  pause,
  within,
  text,
  unit,
} from "#contract/values.ts";
import { protectable } from "#pullsecret/protect.ts";
import { budget, failures, secretReference } from "./values.ts";

export const flags = {
  original: {
    read: secretReference,
    what: "Secret with the original pull secret, NAMESPACE/NAME (none)",
  },
  "original-kubeconfig": {
    read: text,
    what: "kubeconfig of the cluster that holds the original (the same cluster)",
  },
  conflicts: {
    read: oneOf("additional", "original"),
    standard: "additional",
    what: "who wins a conflict, additional or original",
  },
  protect: {
    read: protectable,
    repeated: true,
    what: "registry that no additional entry may shadow",
  },
  "max-unavailable": {
    read: budget,
    standard: "10%",
    what: "nodes that may be without an agent at a time, N or N%",
  },
  probation: {
    read: within(3, 3600),
    standard: "5s",
    what: "how long a restarted kubelet must stay well",
  },
  "max-failures": {
    read: failures,
    standard: "0",
    what: "nodes that may fail before a revision is halted, N or N%",
  },
  "min-interval": {
    read: pause,
    standard: "0s",
    what: "least time from one change's rollout to the next one's",
  },
  restart: {
    read: oneOf("Always", "Never"),
    standard: "Always",
    what: "Always restarts the kubelet, Never lets it re-read its file",
  },
  "restart-control-plane": {
    read: oneOf("Always", "Never"),
    standard: "Never",
    what: "the same for k3s and others with a control plane in it",
  },
  "hidden-files": {
    read: oneOf("Look", "Ignore"),
    standard: "Look",
    what: "Look refuses to hide another file of the kubelet's, Ignore does not look",
  },
  "kubelet-unit": {
    read: unit,
    standard: auto,
    what: "the kubelet's systemd unit; auto: the active one of those known",
  },
  "kubelet-directory": {
    read: directory,
    standard: "/var/lib/kubelet",
    what: "the kubelet's root directory on the nodes",
  },
  "dbus-directory": {
    read: directory,
    standard: "/run/dbus",
    what: "directory of system_bus_socket on the nodes",
  },
  "agent-image": { read: text, what: "image of the agents (the controller's own)" },
  "probe-port": {
    read: integer(1024, 65_535),
    standard: String(defaultProbePort),
    what: "loopback port of the agents' readiness",
  },
  "healthz-port": {
    read: integer(1, 65_535),
    standard: "10248",
    what: "loopback port of the kubelet's healthz",
  },
  "withdrawal-grace": {
    read: pause,
    standard: "30s",
    what: "how long a deleted Secret may be made anew before it is withdrawn",
  },
  "withdrawal-deadline": {
    read: duration,
    standard: "10m",
    what: "when a removal that does not move is reported",
  },
  "forget-after": {
    read: duration,
    standard: "24h",
    what: "how long a removal waits for nodes that are away",
  },
  kubeconfig: { read: text, what: "kubeconfig (KUBECONFIG, or the pod's own account)" },
  listen: {
    read: address,
    standard: ":8080",
    what: "where /healthz, /readyz and /metrics are served",
  },
  "log-level": {
    read: oneOf("trace", "debug", "info", "warn", "error"),
    standard: "info",
    what: "least severe log line: trace, debug, info, warn or error",
  },
} as const satisfies Table;

/** The text of `--help`. */
export function usage(): string {
  return `Global Pull Secret's controller. Works in the namespace ${namespace}.\n${usageOf(flags)}`;
}
