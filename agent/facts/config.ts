/** The agent's flags and variables, each with its default and its purpose, and their values. */
import {
  agentEnvironment,
  deliveries,
  mountPaths,
  publishedMode,
  type PublishedMode,
  scopes,
} from "#contract/names.ts";
import { usage as usageOf, type Table, type TableValues } from "#contract/table.ts";
import { auto, directory, file, integer, ip, oneOf, text, unit, within } from "#contract/values.ts";
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { quote } from "#pullsecret/problems/keypath.ts";

const asGiven = (text: string): string => text;

const flags = {
  [agentEnvironment.node]: {
    read: asGiven,
    from: "environment",
    standard: "",
    what: "the node's name, which is also the name of its NodePullSecret",
  },
  [agentEnvironment.uid]: {
    read: asGiven,
    from: "environment",
    standard: "",
    what: "the pod's uid, to check that the mounted directory is its kubelet's",
  },
  [agentEnvironment.host]: {
    read: text,
    from: "environment",
    required: true,
    what: "the API server's address, which the kubelet sets in every container",
  },
  [agentEnvironment.port]: {
    read: integer(1, 65_535),
    from: "environment",
    required: true,
    what: "the API server's port, which the kubelet sets in every container",
  },
  unit: {
    read: unit,
    standard: auto,
    what: "the kubelet's systemd unit; auto: the only active one of the known units",
  },
  delivery: {
    read: oneOf(...deliveries),
    standard: "ConfigFile",
    what: "how the credentials reach the kubelet",
  },
  scope: {
    read: oneOf(...scopes),
    standard: "All",
    what: "the pods that the credential provider serves",
  },
  restart: {
    read: oneOf("Always", "Never"),
    standard: "Always",
    what: "Always restarts the kubelet; Never leaves it to reread its file",
  },
  "restart-control-plane": {
    read: oneOf("Always", "Never"),
    standard: "Never",
    what: "the same for a unit that has more than a kubelet, such as k3s",
  },
  // At most an hour. With a longer time, a rollout to a few nodes would take days.
  probation: {
    read: within(0, 3600),
    standard: "5s",
    what: "how long a restarted kubelet must stay healthy",
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
  "secret-directory": {
    read: directory,
    standard: mountPaths.secret,
    what: "where global-pull-secret is mounted",
  },
  "kubelet-directory": {
    read: directory,
    standard: mountPaths.kubelet,
    what: "where the kubelet's root directory is mounted",
  },
  "systemd-directory": {
    read: directory,
    standard: mountPaths.systemd,
    what: "where systemd's socket directory is mounted",
  },
  "containerd-path": {
    read: directory,
    what: "the node's directory with containerd's configuration; without it, its hosts.toml files are not ours",
  },
  "containerd-directory": {
    read: directory,
    standard: mountPaths.containerd,
    what: "where that directory is mounted",
  },
  "hosts-directory": {
    read: directory,
    standard: mountPaths.hosts,
    what: "where its folder certs.d is mounted",
  },
  "credentials-directory": {
    read: directory,
    standard: mountPaths.credentials,
    what: "where the agent's token and the API server's authority are mounted",
  },
  mountinfo: {
    read: file,
    standard: "/proc/self/mountinfo",
    what: "the kernel's list of the container's mounts, to check whose directory is mounted",
  },
} as const satisfies Table;

/** The text of `--help`. */
export function usage(): string {
  return `The agent of Global Pull Secret, which runs on every node. The controller sets its flags.\n${usageOf(flags)}`;
}

/** The values of the flags. Durations are in milliseconds, directories absolute. */
export type Config = Readonly<ReturnType<typeof toConfig>>;

/** Parses the arguments after the program's name, and the environment. */
export function parseConfig(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): ParsedFlags<Config> {
  const read = readFlags(flags, { argv, environment, quote });
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

/** The mode and scope that these flags select. The agent takes only content that names them. */
export function modeOf({
  delivery,
  restart,
  scope,
}: Pick<Config, "delivery" | "restart" | "scope">): PublishedMode {
  if (delivery !== "ConfigFile") return publishedMode({ mode: delivery, scope });
  return restart === "Always" ? "Restart" : "Reread";
}

function toConfig(settings: TableValues<typeof flags>) {
  return {
    node: settings[agentEnvironment.node],
    uid: settings[agentEnvironment.uid],
    unit: settings.unit,
    delivery: settings.delivery,
    scope: settings.scope,
    restart: settings.restart,
    restartControlPlane: settings["restart-control-plane"],
    probation: settings.probation * 1000,
    healthzPort: settings["healthz-port"],
    healthzAddress: settings["healthz-address"],
    secretDirectory: settings["secret-directory"],
    kubeletDirectory: settings["kubelet-directory"],
    systemdDirectory: settings["systemd-directory"],
    containerdPath: settings["containerd-path"],
    containerdDirectory: settings["containerd-directory"],
    hostsDirectory: settings["hosts-directory"],
    credentialsDirectory: settings["credentials-directory"],
    mountinfo: settings.mountinfo,
    apiHost: settings[agentEnvironment.host],
    apiPort: settings[agentEnvironment.port],
  };
}
