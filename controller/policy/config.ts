/** The controller's configuration: the values of its flags, grouped by the parts that use them. */
import { namespace, type DeliveryMode } from "#contract/names.ts";
import { readFlags, type ParsedFlags, type Rule } from "#contract/flags.ts";
import type { TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { flags } from "./flags.ts";
import { podOf } from "./pod.ts";
import { type Installed, standardModes } from "./policy.ts";

export type ControllerConfig = Readonly<{
  installed: Installed;
  /** The Secret with the original pull secret. Undefined: each node's own file is the original. */
  original: Readonly<{ namespace: string; name: string }> | undefined;
  /** Kubeconfig of the cluster that holds the original. Undefined: the controller's own cluster. */
  originalKubeconfig: string | undefined;
  /**
   * Kubeconfig of the served cluster, if the controller runs beside that cluster's hosted control
   * plane. Undefined: the controller's own cluster.
   */
  guestKubeconfig: string | undefined;
  /** Namespace of the controller's own pod and of its Lease, in the cluster in which it runs. */
  namespace: string;
  /** The agents' image. Undefined: the controller's own image (found by POD_NAME). */
  image: string | undefined;
  kubeconfig: string | undefined;
  listen: Readonly<{ host: string; port: number }>;
  "log-level": string;
}>;

const kubeconfigHasOriginal: Rule<typeof flags> = (flagValues) =>
  flagValues["original-kubeconfig"] !== undefined &&
  "original" in flagValues &&
  flagValues.original === undefined
    ? "--original-kubeconfig: also needs --original NAMESPACE/NAME"
    : undefined;

/**
 * Refuses another namespace for the Lease of a controller that serves its own cluster. Two
 * controllers of one cluster, each with its own Lease, would both write.
 */
const oneLease: Rule<typeof flags> = ({ namespace: own = namespace, ...flagValues }) =>
  own !== namespace &&
  "guest-kubeconfig" in flagValues &&
  flagValues["guest-kubeconfig"] === undefined
    ? `--namespace: without --guest-kubeconfig, it must be ${namespace}`
    : undefined;

/** In mode Runtime, the agents write below this directory, which only the installer can name. */
const runtimeHasDirectory: Rule<typeof flags> = (flagValues) =>
  flagValues["delivery-modes"]?.flat().includes("Runtime") &&
  "containerd-directory" in flagValues &&
  flagValues["containerd-directory"] === undefined
    ? "--delivery-modes: Runtime also needs --containerd-directory, such as /etc/containerd"
    : undefined;

const rules = [kubeconfigHasOriginal, oneLease, runtimeHasDirectory];

/**
 * Reads the command line after the program's name. All errors are reported at once, one sentence
 * each.
 */
export function parseConfig(argv: readonly string[]): ParsedFlags<ControllerConfig> {
  const read = readFlags(flags, { argv, quote }, ...rules);
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

function toConfig(flagValues: TableValues<typeof flags>): ControllerConfig {
  return {
    installed: installedOf(flagValues),
    original: flagValues.original,
    originalKubeconfig: flagValues["original-kubeconfig"],
    guestKubeconfig: flagValues["guest-kubeconfig"],
    namespace: flagValues.namespace,
    image: flagValues["agent-image"],
    kubeconfig: flagValues.kubeconfig,
    listen: flagValues.listen,
    "log-level": flagValues["log-level"],
  };
}

function modesOf(modeLists: TableValues<typeof flags>["delivery-modes"]): readonly DeliveryMode[] {
  const modes = [...new Set(modeLists.flat())];
  return modes.length > 0 ? modes : standardModes;
}

function installedOf(flagValues: TableValues<typeof flags>): Installed {
  return {
    protect: flagValues.protect,
    limits: {
      deliveryModes: modesOf(flagValues["delivery-modes"]),
      maxUnavailable: flagValues["max-unavailable-limit"],
    },
    agent: {
      restartControlPlane: flagValues["restart-control-plane"],
      kubeletUnit: flagValues["kubelet-unit"],
      kubeletDirectory: flagValues["kubelet-directory"],
      containerdDirectory: flagValues["containerd-directory"],
      healthzPort: flagValues["healthz-port"],
      healthzAddress: flagValues["healthz-address"],
      seLinuxType: flagValues["selinux-type"],
      appArmorProfile: flagValues["apparmor-profile"],
      pod: podOf(flagValues),
    },
  };
}
