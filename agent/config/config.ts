/** What the agent is told: the values of its flags and of its environment. */
import { readFlags, type Outcome } from "#contract/flags.ts";
import { agentEnvironment } from "#contract/names.ts";
import type { Values } from "#contract/table.ts";
import { quote } from "#pullsecret/keypath.ts";
import { flags } from "./flags.ts";

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
  /**
   * Whether a file that ours would hide from the kubelet makes the node unfit, or is nobody's
   * concern.
   */
  hiddenFiles: "Look" | "Ignore";
  /** Milliseconds that a restarted kubelet is watched before the revision counts as proved. */
  probation: number;
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

/** What follows the program's name, and the environment. */
export function parseConfig(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Outcome<Config> {
  const read = readFlags(flags, { argv, environment, quote });
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

function toConfig(given: Values<typeof flags>): Config {
  return {
    revision: given[agentEnvironment.revision],
    digest: given[agentEnvironment.digest],
    node: given[agentEnvironment.node],
    unit: given.unit,
    restart: given.restart,
    restartControlPlane: given["restart-control-plane"],
    hiddenFiles: given["hidden-files"],
    probation: given.probation * 1000,
    healthzPort: given["healthz-port"],
    probePort: given["probe-port"],
    secretDirectory: given["secret-directory"],
    kubeletDirectory: given["kubelet-directory"],
    dbusDirectory: given["dbus-directory"],
    podDirectory: given["pod-directory"],
    terminationLog: given["termination-log"],
  };
}
