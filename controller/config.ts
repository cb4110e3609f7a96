/** The command line: every flag, its default, and the exact sentence for every wrong value. */
import { parseArgs } from "node:util";
import { quote } from "../pullsecret/keypath.ts";
import { defaultProbePort, namespace } from "../contract/names.ts";
import * as check from "./flags.ts";

export type Config = Readonly<{
  /** The Secret that holds the original pull secret; undefined: each node's own file is the original. */
  original: Readonly<{ namespace: string; name: string }> | undefined;
  /** Kubeconfig of the cluster that holds the original (hosted); undefined: the same cluster. */
  originalKubeconfig: string | undefined;
  conflicts: "additional" | "original";
  protect: readonly string[];
  /** How many nodes may be without a working agent at a time: a number of nodes, or a percentage of them. */
  maxUnavailable: number | string;
  minReadySeconds: number;
  /** How many nodes may fail newly before a revision is halted: a number of nodes, or a percentage of them. */
  maxFailures: number | string;
  /** Between the beginnings of two rollouts of changes. */
  minIntervalSeconds: number;
  agent: AgentConfig;
  /** How long a deleted additional Secret may be made anew before the nodes give back its entries. */
  removalGraceSeconds: number;
  drainDeadlineSeconds: number;
  forgetAfterSeconds: number;
  kubeconfig: string | undefined;
  listen: Readonly<{ host: string; port: number }>;
  logLevel: string;
}>;

/** What the agents are told; changes here replace the agents' pods. */
export type AgentConfig = Readonly<{
  /** undefined: the image that the controller itself runs (found by POD_NAME). */
  image: string | undefined;
  restart: "Always" | "Never";
  /** The same where the kubelet's unit carries a control plane. */
  restartControlPlane: "Always" | "Never";
  /** Whether a file that a new config.json would hide from the kubelet is looked for: that takes the node's root directory. */
  hiddenFiles: "Look" | "Ignore";
  /** `auto`: each node's own. */
  kubeletUnit: string;
  kubeletDirectory: string;
  dbusDirectory: string;
  probePort: number;
  healthzPort: number;
}>;

const flags = {
  original: ["", check.secretReference, "Secret with the original pull secret, NAMESPACE/NAME (none)"],
  "original-kubeconfig": ["", check.text, "kubeconfig of the cluster that holds the original (the same cluster)"],
  conflicts: ["additional", check.oneOf("additional", "original"), "who wins a conflict"],
  "max-unavailable": ["10%", check.budget, "nodes that may be without an agent at a time, N or N%"],
  "min-ready-seconds": ["5", check.integer(3, 3600), "how long a restarted kubelet must stay well"],
  "max-failures": ["0", check.failures, "nodes that may fail before a revision is halted, N or N%"],
  "min-interval": ["0s", check.pause, "least time from one change's rollout to the next one's"],
  restart: ["Always", check.oneOf("Always", "Never"), "restart the kubelet, or let it re-read its file"],
  "restart-control-plane": [
    "Never",
    check.oneOf("Always", "Never"),
    "the same for k3s and others with a control plane in it",
  ],
  "hidden-files": [
    "Look",
    check.oneOf("Look", "Ignore"),
    "refuse to hide another file of the kubelet's, or do not look",
  ],
  "kubelet-unit": ["auto", check.unit, "the kubelet's systemd unit; auto: the active one of those known"],
  "kubelet-directory": ["/var/lib/kubelet", check.directory, "the kubelet's root directory on the nodes"],
  "dbus-directory": ["/run/dbus", check.directory, "directory of system_bus_socket on the nodes"],
  "agent-image": ["", check.text, "image of the agents (the controller's own)"],
  "probe-port": [String(defaultProbePort), check.integer(1024, 65535), "loopback port of the agents' readiness"],
  "healthz-port": ["10248", check.integer(1, 65535), "loopback port of the kubelet's healthz"],
  "removal-grace": ["30s", check.pause, "how long a deleted Secret may be made anew before it is withdrawn"],
  "drain-deadline": ["10m", check.duration, "when a removal that does not move is reported"],
  "forget-after": ["24h", check.duration, "how long a removal waits for nodes that are away"],
  kubeconfig: ["", check.text, "kubeconfig (KUBECONFIG, or the pod's own account)"],
  listen: [":8080", check.address, "where /healthz, /readyz and /metrics are served"],
  "log-level": ["info", check.oneOf("trace", "debug", "info", "warn", "error"), "least severe log line"],
} as const satisfies Record<string, readonly [string, (value: string) => unknown, string]>;

export type Parsed = { ok: true; config: Config } | { ok: false; errors: readonly string[] };

/** Reads the arguments after the program's name. All that is wrong is named at once, one sentence each. */
export function parseConfig(argv: readonly string[]): Parsed {
  const given: Record<string, string[]> = {};
  const errors: string[] = [];
  const known = [...Object.keys(flags), "protect"];
  try {
    const options = Object.fromEntries(known.map((name) => [name, { type: "string", multiple: true } as const]));
    Object.assign(given, parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values);
  } catch (error) {
    // Node's own sentence names the flag; its second sentence is a hint about `--` that does not apply.
    return { ok: false, errors: [(error as Error).message.split(". ")[0] ?? ""] };
  }
  const values: Record<string, unknown> = {};
  for (const [name, [standard, read]] of Object.entries(flags)) {
    const all = given[name] ?? [standard];
    if (all.length > 1) errors.push(`--${name}: given ${all.length} times; give it once`);
    const result = read(all[0] ?? "");
    if (result instanceof check.Wrong) errors.push(`--${name} ${JSON.stringify(all[0])}: ${result.message}`);
    else values[name] = result;
  }
  for (const registry of given["protect"] ?? []) {
    const result = check.registry(registry);
    if (result instanceof check.Wrong) errors.push(`--protect ${quote(registry)}: ${result.message}`);
  }
  if (values["probe-port"] === values["healthz-port"])
    errors.push(`--probe-port ${String(values["probe-port"])}: is the kubelet's --healthz-port; choose another`);
  if (values["original-kubeconfig"] !== undefined && values["original"] === undefined)
    errors.push("--original-kubeconfig: needs --original NAMESPACE/NAME as well");
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, config: toConfig(values as Values, given["protect"] ?? []) };
}

type Values = { [Name in keyof typeof flags]: Exclude<ReturnType<(typeof flags)[Name][1]>, check.Wrong> };

function toConfig(values: Values, protect: readonly string[]): Config {
  return {
    original: values.original,
    originalKubeconfig: values["original-kubeconfig"],
    conflicts: values.conflicts,
    protect,
    maxUnavailable: values["max-unavailable"],
    minReadySeconds: values["min-ready-seconds"],
    maxFailures: values["max-failures"],
    minIntervalSeconds: values["min-interval"],
    agent: {
      image: values["agent-image"],
      restart: values.restart,
      restartControlPlane: values["restart-control-plane"],
      hiddenFiles: values["hidden-files"],
      kubeletUnit: values["kubelet-unit"],
      kubeletDirectory: values["kubelet-directory"],
      dbusDirectory: values["dbus-directory"],
      probePort: values["probe-port"],
      healthzPort: values["healthz-port"],
    },
    removalGraceSeconds: values["removal-grace"],
    drainDeadlineSeconds: values["drain-deadline"],
    forgetAfterSeconds: values["forget-after"],
    kubeconfig: values.kubeconfig,
    listen: values.listen,
    logLevel: values["log-level"],
  };
}

/** The text of `--help`. */
export function usage(): string {
  const lines = Object.entries(flags).map(
    ([name, [standard, , what]]) => `  --${name.padEnd(21)} ${what}${standard === "" ? "" : ` [${standard}]`}`,
  );
  lines.push(`  --${"protect".padEnd(21)} registry that no additional entry may shadow; may be repeated`);
  return `Global Pull Secret's controller. Works in the namespace ${namespace}.\n${lines.toSorted().join("\n")}\n`;
}
