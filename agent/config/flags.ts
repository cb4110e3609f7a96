/** The agent's flags and variables, each with its default and what it is for. */
import {
  agentEnvironment,
  defaultProbePort,
  deliveries,
  mountPaths,
  scopes,
} from "#contract/names.ts";
import { usage as usageOf, type Table } from "#contract/table.ts";
import { auto, directory, file, integer, ip, oneOf, unit, within } from "#contract/values.ts";

/** Any text, and an empty one. */
const asGiven = (text: string): string => text;

export const flags = {
  [agentEnvironment.node]: {
    read: asGiven,
    from: "environment",
    standard: "",
    what: "the node's name, for the log",
  },
  [agentEnvironment.uid]: {
    read: asGiven,
    from: "environment",
    standard: "",
    what: "the pod's uid, by which its kubelet's directory is known",
  },
  template: {
    read: asGiven,
    standard: "",
    what: "the digest of the pod's template, which the kubelet's probe names",
  },
  unit: {
    read: unit,
    standard: auto,
    what: "the kubelet's systemd unit; auto: the active one of those known",
  },
  delivery: {
    read: oneOf(...deliveries),
    standard: "ConfigFile",
    what: "how the document reaches the kubelet",
  },
  scope: {
    read: oneOf(...scopes),
    standard: "All",
    what: "the pods that the credential provider serves",
  },
  restart: {
    read: oneOf("Always", "Never"),
    standard: "Always",
    what: "Always restarts the kubelet, Never lets it re-read its file",
  },
  "restart-control-plane": {
    read: oneOf("Always", "Never"),
    standard: "Never",
    what: "the same for a unit with a control plane in it",
  },
  "hidden-files": {
    read: oneOf("Look", "Ignore", "Skip"),
    standard: "Look",
    what: "Look refuses to hide another file of the kubelet's, Skip only .dockercfg in its directory, Ignore none",
  },
  // An hour: beyond it a rollout of a few nodes would take days, which nobody means.
  probation: {
    read: within(0, 3600),
    standard: "5s",
    what: "how long a restarted kubelet must stay well",
  },
  "healthz-port": {
    read: integer(1, 65_535),
    standard: "10248",
    what: "port of the kubelet's healthz",
  },
  "healthz-address": {
    read: ip,
    standard: auto,
    what: "address of the kubelet's healthz; auto: 127.0.0.1, then ::1",
  },
  "probe-port": {
    read: integer(1024, 65_535),
    standard: String(defaultProbePort),
    what: "loopback port of the agent's readiness",
  },
  "secret-directory": {
    read: directory,
    standard: mountPaths.secret,
    what: "where global-pull-secret and the pod's grant are mounted",
  },
  "kubelet-directory": {
    read: directory,
    standard: mountPaths.kubelet,
    what: "where the kubelet's root directory is mounted",
  },
  "systemd-directory": {
    read: directory,
    standard: mountPaths.systemd,
    what: "where the directory of systemd's own socket is mounted",
  },
  "pod-directory": {
    read: directory,
    standard: mountPaths.pod,
    what: "the pod's own directory, which outlives its containers",
  },
  "termination-log": {
    read: file,
    standard: mountPaths.terminationLog,
    what: "the file that the kubelet reads last words from",
  },
} as const satisfies Table;

/** The text of `--help`. */
export function usage(): string {
  return `Global Pull Secret's agent, on every node. The controller sets its flags.\n${usageOf(flags)}`;
}
