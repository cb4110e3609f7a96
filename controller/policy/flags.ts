/**
 * The controller's flags, which only the installer can set. The policy is in GlobalPullSecret's
 * spec.
 */
import { namespace } from "#contract/names.ts";
import { usage as usageOf, type Table } from "#contract/table.ts";
import {
  appArmorProfile,
  auto,
  directory,
  integer,
  ip,
  oneOf,
  selinuxType,
  text,
  unit,
} from "#contract/values.ts";
import { common, namespaceLike } from "#runtime/flags.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { podFlags } from "./pod.ts";
import { budget, deliveryModes, secretReference } from "./values.ts";

export const flags = {
  original: {
    read: secretReference,
    what: "Secret with the original pull secret, NAMESPACE/NAME (none)",
  },
  "original-kubeconfig": {
    read: text,
    what: "kubeconfig of the cluster that holds the original (the controller's own)",
  },
  "guest-kubeconfig": {
    read: text,
    what: "kubeconfig of the served cluster, read as data (the controller's own cluster)",
  },
  namespace: {
    read: namespaceLike("kube-system"),
    standard: namespace,
    what: "namespace of the controller's pod and Lease; it can be changed only with --guest-kubeconfig",
  },
  protect: {
    read: protectable,
    repeated: true,
    what: "registry that additional sources must not override; adds to protectedRegistries in the spec",
  },
  "delivery-modes": {
    read: deliveryModes,
    repeated: true,
    what: "allowed values of spec.delivery.mode: Restart, Reread, CredentialProvider, Runtime (Restart,Reread)",
  },
  "max-unavailable-limit": {
    read: budget,
    standard: "100%",
    what: "highest allowed value of spec.rollout.maxUnavailable, N or N%",
  },
  "restart-control-plane": {
    read: oneOf("Always", "Never"),
    standard: "Never",
    what: "whether to restart a unit that has more than a kubelet (k3s, RKE2, k0s, MicroK8s)",
  },
  "kubelet-unit": {
    read: unit,
    standard: auto,
    what: "the kubelet's systemd unit; auto: the active one of the known units",
  },
  "kubelet-directory": {
    read: directory,
    standard: "/var/lib/kubelet",
    what: "the kubelet's root directory on the nodes; to change it, withdraw first",
  },
  "containerd-directory": {
    read: directory,
    what: "the nodes' directory with containerd's config.toml and certs.d, for mode Runtime with containerd 2.1 or newer; to change it, withdraw first (none)",
  },
  "agent-image": { read: text, what: "image of the agents (the controller's own)" },
  ...podFlags,
  "healthz-port": {
    read: integer(1, 65_535),
    standard: "10248",
    what: "port of the kubelet's healthz endpoint",
  },
  "healthz-address": {
    read: ip,
    standard: auto,
    what: "address of the kubelet's healthz endpoint; auto: 127.0.0.1, then ::1",
  },
  "selinux-type": {
    read: selinuxType,
    standard: "spc_t",
    what: "SELinux type of the agents; super_t on Bottlerocket, empty: the runtime's default",
  },
  "apparmor-profile": {
    read: appArmorProfile,
    standard: "Unconfined",
    what: "AppArmor profile of agents that use systemd's socket",
  },
  ...common,
} as const satisfies Table;

export function usage(): string {
  const head = `Global Pull Secret's controller. It serves the namespace ${namespace}.`;
  return `${head}\nThe policy is the spec of GlobalPullSecret cluster.\n${usageOf(flags)}`;
}
