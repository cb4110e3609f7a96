/**
 * The units that run a kubelet, by distribution. Decides which unit is this node's, and whether the
 * agent is allowed to restart it. Pure.
 *
 * Clusters of k3s and RKE2 have two such units, one for servers and one for workers.
 */
import type { UnitState } from "./unit.ts";

/**
 * A unit that `carriesMore` than a kubelet: the API server or its supervisor, containerd, or the
 * import of all images, which can take minutes. The agent does not restart such a unit unless the
 * installer asks for it. Its kubelet rereads the file.
 */
const kubelets: readonly Readonly<{ name: string; carriesMore: boolean }>[] = [
  // kubeadm, and every distribution that packages the kubelet separately.
  { name: "kubelet.service", carriesMore: false },
  { name: "k3s.service", carriesMore: true },
  { name: "k3s-agent.service", carriesMore: true },
  { name: "rke2-server.service", carriesMore: true },
  { name: "rke2-agent.service", carriesMore: true },
  { name: "k0scontroller.service", carriesMore: true },
  { name: "k0sworker.service", carriesMore: true },
  { name: "snap.microk8s.daemon-kubelite.service", carriesMore: true },
  // Canonical Kubernetes and Charmed Kubernetes. Their control planes are separate units.
  { name: "snap.k8s.kubelet.service", carriesMore: false },
  { name: "snap.kubelet.daemon.service", carriesMore: false },
];

/** The units among which `auto` finds the kubelet's unit. */
export const kubeletUnits: readonly string[] = kubelets.map(({ name }) => name);

/**
 * The only active unit, or the reason if no unit or several units are active. A kubelet.service
 * that is left over and not active does not compete with k3s.service.
 */
export function activeUnit(
  states: readonly UnitState[],
): Readonly<{ name: string }> | Readonly<{ unfound: string }> {
  const active = states.filter(
    (state) => state.active === "active" || state.active === "reloading",
  );
  const [only] = active;
  if (only !== undefined && active.length === 1) return { name: only.name };
  if (only !== undefined)
    return { unfound: `${active.map(({ name }) => name).join(" and ")} are active` };
  const loaded = states
    .filter(({ load }) => load === "loaded")
    .map(({ name, active: state }) => `${name} is ${state}`);
  const unfound =
    loaded.length > 0 ? loaded.join(", ") : `none of ${kubeletUnits.join(", ")} exists`;
  return { unfound };
}

type Policy = "Always" | "Never";

/**
 * Whether we restart the kubelet of this unit, or wait until it rereads its file. An unknown unit
 * counts as a unit that only has a kubelet.
 */
export function policyFor(
  flags: Readonly<{ restart: Policy; restartControlPlane: Policy }>,
  unit: string | undefined,
): Policy {
  const carries = kubelets.some((kubelet) => kubelet.name === unit && kubelet.carriesMore);
  return flags.restart === "Always" && carries ? flags.restartControlPlane : flags.restart;
}
