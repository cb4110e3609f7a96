/**
 * The controller's flags, which only the installer may set. Policy is in GlobalPullSecret's spec.
 */
import { defaultProbePort, namespace } from "#contract/names.ts";
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
import { common } from "#program/flags.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { podFlags } from "./pod.ts";
import {
  budget,
  deliveryModes,
  namespaceName,
  secretReference,
} from "#controller/policy/values.ts";

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
    what: "kubeconfig of the cluster that is served, read as data (the controller's own cluster)",
  },
  namespace: {
    read: namespaceName,
    standard: namespace,
    what: "namespace of the controller's pod and Lease; another only where a guest is served",
  },
  protect: {
    read: protectable,
    repeated: true,
    what: "registry that no additional entry may shadow, whatever the spec says",
  },
  "delivery-modes": {
    read: deliveryModes,
    repeated: true,
    what: "what spec.delivery.mode may be: Restart, Reread, CredentialProvider (Restart,Reread)",
  },
  "max-unavailable-limit": {
    read: budget,
    standard: "100%",
    what: "the most that spec.rollout.maxUnavailable may be, N or N%",
  },
  "restart-control-plane": {
    read: oneOf("Always", "Never"),
    standard: "Never",
    what: "whether a kubelet that has a control plane in it (k3s and others) is restarted",
  },
  "hidden-files": {
    read: oneOf("Look", "Ignore"),
    standard: "Look",
    what: "Look refuses to hide another file of the kubelet's, Ignore does not look",
  },
  "kubelet-unit": {
    read: unit,
    standard: auto,
    what: "the kubelet's systemd unit; auto: the active one of those known",
  },
  "kubelet-directory": {
    read: directory,
    standard: "/var/lib/kubelet",
    what: "the kubelet's root directory on the nodes",
  },
  "agent-image": { read: text, what: "image of the agents (the controller's own, by digest)" },
  ...podFlags,
  "probe-port": {
    read: integer(1024, 65_535),
    standard: String(defaultProbePort),
    what: "loopback port of the agents' readiness",
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
  "selinux-type": {
    read: selinuxType,
    standard: "spc_t",
    what: "SELinux type of the agents; super_t on Bottlerocket, empty: the runtime's",
  },
  "apparmor-profile": {
    read: appArmorProfile,
    standard: "Unconfined",
    what: "AppArmor profile of agents that may ask systemd",
  },
  ...common,
} as const satisfies Table;

/** The text of `--help`. */
export function usage(): string {
  const head = `Global Pull Secret's controller. Serves the namespace ${namespace}.`;
  return `${head}\nPolicy is the spec of GlobalPullSecret cluster.\n${usageOf(flags)}`;
}
