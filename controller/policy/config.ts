/** What the controller is told: the values of its flags, by the parts that need them. */
import { readFlags, type Outcome, type Rule } from "#contract/flags.ts";
import type { Values } from "#contract/table.ts";
import { quote } from "#pullsecret/keypath.ts";
import { flags } from "./flags.ts";
import type { Policy } from "./policy.ts";

export type Config = Readonly<{
  policy: Policy;
  /**
   * The Secret that holds the original pull secret; undefined: each node's own file is the
   * original.
   */
  original: Readonly<{ namespace: string; name: string }> | undefined;
  /** Kubeconfig of the cluster that holds the original (hosted); undefined: the same cluster. */
  originalKubeconfig: string | undefined;
  /**
   * Image of the agents; undefined: the image that the controller itself runs (found by POD_NAME).
   */
  image: string | undefined;
  kubeconfig: string | undefined;
  listen: Readonly<{ host: string; port: number }>;
  logLevel: string;
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
    policy: policyOf(given),
    original: given.original,
    originalKubeconfig: given["original-kubeconfig"],
    image: given["agent-image"],
    kubeconfig: given.kubeconfig,
    listen: given.listen,
    logLevel: given["log-level"],
  };
}

function policyOf(given: Values<typeof flags>): Policy {
  return {
    sources: [],
    merge: { conflicts: given.conflicts, protect: given.protect },
    rollout: {
      maxUnavailable: given["max-unavailable"],
      maxFailures: given["max-failures"],
      probationSeconds: given.probation,
      minIntervalSeconds: given["min-interval"],
    },
    withdrawal: {
      graceSeconds: given["withdrawal-grace"],
      deadlineSeconds: given["withdrawal-deadline"],
      forgetAfterSeconds: given["forget-after"],
    },
    agent: {
      restart: given.restart,
      restartControlPlane: given["restart-control-plane"],
      hiddenFiles: given["hidden-files"],
      kubeletUnit: given["kubelet-unit"],
      kubeletDirectory: given["kubelet-directory"],
      dbusDirectory: given["dbus-directory"],
      probePort: given["probe-port"],
      healthzPort: given["healthz-port"],
    },
  };
}
