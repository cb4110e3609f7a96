/**
 * The units that run a kubelet, by distribution. Decides which unit is this node's, and whether the
 * agent is allowed to restart it. Pure.
 *
 * Clusters of k3s and RKE2 have two such units, one for servers and one for workers.
 */
import type { UnitState } from "./unit.ts";

/** Restarting a unit with `hasControlPlane` also restarts the API server or its supervisor. */
const kubelets: readonly Readonly<{ name: string; hasControlPlane: boolean }>[] = [
  // kubeadm, and every distribution that packages the kubelet separately.
  { name: "kubelet.service", hasControlPlane: false },
  { name: "k3s.service", hasControlPlane: true },
  { name: "k3s-agent.service", hasControlPlane: false },
  { name: "rke2-server.service", hasControlPlane: true },
  { name: "rke2-agent.service", hasControlPlane: false },
  { name: "k0scontroller.service", hasControlPlane: true },
  { name: "k0sworker.service", hasControlPlane: false },
  { name: "snap.microk8s.daemon-kubelite.service", hasControlPlane: true },
  // Canonical Kubernetes and Charmed Kubernetes. Their control planes are separate units.
  { name: "snap.k8s.kubelet.service", hasControlPlane: false },
  { name: "snap.kubelet.daemon.service", hasControlPlane: false },
];

/** The units among which `auto` finds the kubelet's unit. */
export const kubeletUnits: readonly string[] = kubelets.map(({ name }) => name);

/** Whether this is the name of one of these units. */
export function isKubelet(name: unknown): name is string {
  return kubelets.some((kubelet) => kubelet.name === name);
}

/**
 * The only active unit, or the reason if no unit or several units are active. A kubelet.service
 * that is left over and not active does not compete with k3s.service.
 */
export function activeUnit(
  states: readonly UnitState[],
): Readonly<{ name: string }> | Readonly<{ unfound: string; several: boolean }> {
  const active = states.filter(
    (state) => state.active === "active" || state.active === "reloading",
  );
  const [only] = active;
  if (only !== undefined && active.length === 1) return { name: only.name };
  if (only !== undefined)
    return { unfound: `${active.map(({ name }) => name).join(" and ")} are active`, several: true };
  const loaded = states
    .filter(({ load }) => load === "loaded")
    .map(({ name, active: state }) => `${name} is ${state}`);
  const unfound =
    loaded.length > 0 ? loaded.join(", ") : `none of ${kubeletUnits.join(", ")} exists`;
  return { unfound, several: false };
}

type Policy = "Always" | "Never";

/**
 * Whether we restart the kubelet of this unit, or wait until it rereads its file. An unknown unit
 * counts as a unit without a control plane.
 */
export function policyFor(
  flags: Readonly<{ restart: Policy; restartControlPlane: Policy }>,
  unit: string | undefined,
): Policy {
  const carries = kubelets.some((kubelet) => kubelet.name === unit && kubelet.hasControlPlane);
  return flags.restart === "Always" && carries ? flags.restartControlPlane : flags.restart;
}
