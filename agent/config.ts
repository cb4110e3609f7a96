/** The agent's flags and environment, checked before anything else happens. */
import { isAbsolute } from "node:path";
import { parseArgs } from "node:util";
import { agentEnvironment, defaultProbePort, mountPaths } from "../contract/names.ts";
import { auto } from "./distributions.ts";

export type Config = Readonly<{
  /** The one revision that this pod applies; 0 observes. */
  revision: number;
  /** Salted digest of that revision's content; empty for revision 0. */
  digest: string;
  node: string;
  /** `auto`, or the name of the kubelet's unit. */
  unit: string;
  restart: "Always" | "Never";
  /** The same for a unit that carries a control plane. */
  restartControlPlane: "Always" | "Never";
  /** Whether a file that ours would hide from the kubelet makes the node unfit, or is nobody's concern. */
  hiddenFiles: "Look" | "Ignore";
  /** Milliseconds that a restarted kubelet is watched before the revision counts as proved. */
  settle: number;
  healthzPort: number;
  probePort: number;
  /** Directories, absolute. */
  secretDirectory: string;
  kubeletDirectory: string;
  dbusDirectory: string;
  /** Of the pod's own: it outlives the container. */
  podDirectory: string;
  terminationLog: string;
}>;

/** A flag or variable that cannot be used; the message is meant for the one who set it. */
export class ConfigError extends Error {}

const options = {
  unit: { type: "string", default: auto },
  restart: { type: "string", default: "Always" },
  "restart-control-plane": { type: "string", default: "Never" },
  "hidden-files": { type: "string", default: "Look" },
  settle: { type: "string", default: "5" },
  "healthz-port": { type: "string", default: "10248" },
  "probe-port": { type: "string", default: String(defaultProbePort) },
  "secret-directory": { type: "string", default: mountPaths.secret },
  "kubelet-directory": { type: "string", default: mountPaths.kubelet },
  "dbus-directory": { type: "string", default: mountPaths.dbus },
  "pod-directory": { type: "string", default: mountPaths.pod },
  "termination-log": { type: "string", default: mountPaths.terminationLog },
} as const;

/** Reads flags and environment. Throws a ConfigError that names the flag, its value and what would be right. */
export function readConfig(args: readonly string[], environment: Readonly<Record<string, string | undefined>>): Config {
  const flags = parse(args);
  return {
    revision: integer(agentEnvironment.revision, environment[agentEnvironment.revision], 0, Number.MAX_SAFE_INTEGER),
    digest: environment[agentEnvironment.digest] ?? "",
    node: environment[agentEnvironment.node] ?? "",
    unit: unitName(flags.unit),
    restart: oneOf("--restart", flags.restart, ["Always", "Never"]),
    restartControlPlane: oneOf("--restart-control-plane", flags["restart-control-plane"], ["Always", "Never"]),
    hiddenFiles: oneOf("--hidden-files", flags["hidden-files"], ["Look", "Ignore"]),
    // An hour: beyond it a rollout of a few nodes would take days, which nobody means.
    settle: integer("--settle", flags.settle, 0, 3600) * 1000,
    healthzPort: integer("--healthz-port", flags["healthz-port"], 1, 65_535),
    probePort: integer("--probe-port", flags["probe-port"], 1024, 65_535),
    secretDirectory: directory("--secret-directory", flags["secret-directory"]),
    kubeletDirectory: directory("--kubelet-directory", flags["kubelet-directory"]),
    dbusDirectory: directory("--dbus-directory", flags["dbus-directory"]),
    podDirectory: directory("--pod-directory", flags["pod-directory"]),
    terminationLog: directory("--termination-log", flags["termination-log"]),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  }
}

function integer(name: string, value: string | undefined, least: number, most: number): number {
  const number = value !== undefined && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new ConfigError(`${name}: ${quoted(value)} is not a whole number from ${least} to ${most}`);
}

function unitName(value: string): string {
  // systemd.unit(5): at most 255 characters of this alphabet, and a type suffix; only services are restarted here.
  if (value === auto || /^[A-Za-z0-9:_.\\@-]{1,247}\.service$/.test(value)) return value;
  throw new ConfigError(
    `--unit: ${quoted(value)} is neither auto nor the name of a service unit, such as kubelet.service`,
  );
}

function oneOf<const Choice extends string>(name: string, value: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new ConfigError(`${name}: ${quoted(value)} is neither ${choices.join(" nor ")}`);
}

function directory(name: string, value: string): string {
  if (isAbsolute(value) && !value.includes("\0")) return value;
  throw new ConfigError(`${name}: ${quoted(value)} is not an absolute path`);
}

function quoted(value: string | undefined): string {
  return value === undefined ? "(not set)" : JSON.stringify(value);
}
