/** What the controller is told: the values of its flags, by the parts that need them. */
import { readFlags, type Outcome, type Rule } from "../contract/flags.ts";
import type { Values } from "../contract/table.ts";
import { quote } from "../pullsecret/keypath.ts";
import { flags } from "./flags.ts";

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

const portsDiffer: Rule<typeof flags> = ({ "probe-port": probe, "healthz-port": healthz }) =>
  probe !== undefined && probe === healthz
    ? `--probe-port ${probe}: is the kubelet's --healthz-port; choose another`
    : undefined;

const kubeconfigHasOriginal: Rule<typeof flags> = (given) =>
  given["original-kubeconfig"] !== undefined && "original" in given && given.original === undefined
    ? "--original-kubeconfig: needs --original NAMESPACE/NAME as well"
    : undefined;

/** Reads what follows the program's name. All that is wrong is named at once, one sentence each. */
export function parseConfig(argv: readonly string[]): Outcome<Config> {
  const read = readFlags(flags, { argv, quote }, portsDiffer, kubeconfigHasOriginal);
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

function toConfig(given: Values<typeof flags>): Config {
  return {
    original: given.original,
    originalKubeconfig: given["original-kubeconfig"],
    conflicts: given.conflicts,
    protect: given.protect,
    maxUnavailable: given["max-unavailable"],
    minReadySeconds: given["min-ready-seconds"],
    maxFailures: given["max-failures"],
    minIntervalSeconds: given["min-interval"],
    agent: {
      image: given["agent-image"],
      restart: given.restart,
      restartControlPlane: given["restart-control-plane"],
      hiddenFiles: given["hidden-files"],
      kubeletUnit: given["kubelet-unit"],
      kubeletDirectory: given["kubelet-directory"],
      dbusDirectory: given["dbus-directory"],
      probePort: given["probe-port"],
      healthzPort: given["healthz-port"],
    },
    removalGraceSeconds: given["removal-grace"],
    drainDeadlineSeconds: given["drain-deadline"],
    forgetAfterSeconds: given["forget-after"],
    kubeconfig: given.kubeconfig,
    listen: given.listen,
    logLevel: given["log-level"],
  };
}
