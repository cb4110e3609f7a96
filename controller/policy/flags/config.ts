/** The controller's configuration: the values of its flags, grouped by the parts that need them. */
import { namespace } from "#contract/names.ts";
import { readFlags, type ParsedFlags, type Rule } from "#contract/flags.ts";
import type { TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { flags } from "./flags.ts";
import { moved } from "./moved-flags.ts";
import { podOf, requestsFit } from "./pod.ts";
import type { Installed } from "#controller/policy/policy.ts";
import { standardModes } from "#controller/policy/delivery.ts";

export type ControllerConfig = Readonly<{
  /** The installer's part of the policy. */
  installed: Installed;
  /**
   * The Secret that holds the original pull secret; undefined: each node's own file is the
   * original.
   */
  original: Readonly<{ namespace: string; name: string }> | undefined;
  /** Kubeconfig of the cluster that holds the original; undefined: the controller's own. */
  originalKubeconfig: string | undefined;
  /**
   * Kubeconfig of the served cluster, where the controller runs beside that cluster's hosted
   * control plane; undefined: the controller's own.
   */
  guestKubeconfig: string | undefined;
  /** Namespace of the controller's own pod and its Lease, in the cluster that it runs in. */
  namespace: string;
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

/**
 * Refuses two places for the Lease: two controllers of one cluster, each with a Lease of its own,
 * would both write.
 */
const oneLease: Rule<typeof flags> = ({ namespace: own = namespace, ...given }) =>
  own !== namespace && "guest-kubeconfig" in given && given["guest-kubeconfig"] === undefined
    ? `--namespace: only --guest-kubeconfig allows another than ${namespace}`
    : undefined;

const rules = [portsDiffer, kubeconfigHasOriginal, oneLease, requestsFit];

/**
 * Reads the command line after the program's name. All errors are reported at once, one sentence
 * each.
 */
export function parseConfig(argv: readonly string[]): ParsedFlags<ControllerConfig> {
  const read = readFlags(flags, { argv, quote, moved }, ...rules);
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

function toConfig(given: TableValues<typeof flags>): ControllerConfig {
  return {
    installed: installedOf(given),
    original: given.original,
    originalKubeconfig: given["original-kubeconfig"],
    guestKubeconfig: given["guest-kubeconfig"],
    namespace: given.namespace,
    image: given["agent-image"],
    kubeconfig: given.kubeconfig,
    listen: given.listen,
    logLevel: given["log-level"],
  };
}

function installedOf(given: TableValues<typeof flags>): Installed {
  const modes = [...new Set(given["delivery-modes"].flat())];
  return {
    protect: given.protect,
    limits: {
      deliveryModes: modes.length > 0 ? modes : standardModes,
      maxUnavailable: given["max-unavailable-limit"],
    },
    agent: {
      restartControlPlane: given["restart-control-plane"],
      hiddenFiles: given["hidden-files"],
      kubeletUnit: given["kubelet-unit"],
      kubeletDirectory: given["kubelet-directory"],
      probePort: given["probe-port"],
      healthzPort: given["healthz-port"],
      healthzAddress: given["healthz-address"],
      seLinuxType: given["selinux-type"],
      appArmorProfile: given["apparmor-profile"],
      pod: podOf(given),
    },
  };
}
