/** The command line: every flag, its default, and the exact sentence for every wrong value. */
import { parseArgs } from "node:util";
import { defaultProbePort, namespace } from "../pullsecret/names.ts";
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
  agent: AgentConfig;
  drainDeadlineSeconds: number;
  kubeconfig: string | undefined;
  listen: Readonly<{ host: string; port: number }>;
  logLevel: string;
}>;

/** What the agents are told; changes here replace the agents' pods. */
export type AgentConfig = Readonly<{
  /** undefined: the image that the controller itself runs (found by POD_NAME). */
  image: string | undefined;
  restart: "Always" | "Never";
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
  restart: ["Always", check.oneOf("Always", "Never"), "restart the kubelet, or let it re-read its file"],
  "kubelet-unit": ["kubelet.service", check.unit, "the kubelet's systemd unit"],
  "kubelet-directory": ["/var/lib/kubelet", check.directory, "the kubelet's root directory on the nodes"],
  "dbus-directory": ["/run/dbus", check.directory, "directory of system_bus_socket on the nodes"],
  "agent-image": ["", check.text, "image of the agents (the controller's own)"],
  "probe-port": [String(defaultProbePort), check.integer(1024, 65535), "loopback port of the agents' readiness"],
  "healthz-port": ["10248", check.integer(1, 65535), "loopback port of the kubelet's healthz"],
  "drain-deadline": ["10m", check.duration, "when a removal that hangs is reported"],
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
  for (const registry of given["protect"] ?? [])
    if (registry.trim() === "") errors.push('--protect "": is empty; give a registry such as quay.io');
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
    agent: {
      image: values["agent-image"],
      restart: values.restart,
      kubeletUnit: values["kubelet-unit"],
      kubeletDirectory: values["kubelet-directory"],
      dbusDirectory: values["dbus-directory"],
      probePort: values["probe-port"],
      healthzPort: values["healthz-port"],
    },
    drainDeadlineSeconds: values["drain-deadline"],
    kubeconfig: values.kubeconfig,
    listen: values.listen,
    logLevel: values["log-level"],
  };
}

/** The text of `--help`. */
export function usage(): string {
  const lines = Object.entries(flags).map(
    ([name, [standard, , what]]) => `  --${name.padEnd(20)} ${what}${standard === "" ? "" : ` [${standard}]`}`,
  );
  lines.push(`  --${"protect".padEnd(20)} registry that no additional entry may shadow; may be repeated`);
  return `Global Pull Secret's controller. Works in the namespace ${namespace}.\n${lines.toSorted().join("\n")}\n`;
}
