/**
 * The units that run a kubelet, by distribution; which of them is this node's, and whether it may
 * be restarted. Pure.
 *
 * k3s and RKE2 have two of them in every cluster, one for servers and one for workers, so a name
 * for all nodes is wrong on half.
 */
import type { UnitState } from "./unit.ts";

/** A restart of what `carries` a control plane takes the API server or its supervisor along. */
const kubelets: readonly Readonly<{ name: string; hasControlPlane: boolean }>[] = [
  // kubeadm, and every distribution that packs the kubelet by itself.
  { name: "kubelet.service", hasControlPlane: false },
  { name: "k3s.service", hasControlPlane: true },
  { name: "k3s-agent.service", hasControlPlane: false },
  { name: "rke2-server.service", hasControlPlane: true },
  { name: "rke2-agent.service", hasControlPlane: false },
  { name: "k0scontroller.service", hasControlPlane: true },
  { name: "k0sworker.service", hasControlPlane: false },
  { name: "snap.microk8s.daemon-kubelite.service", hasControlPlane: true },
  // Canonical Kubernetes, and Charmed Kubernetes: their control planes are units of their own.
  { name: "snap.k8s.kubelet.service", hasControlPlane: false },
  { name: "snap.kubelet.daemon.service", hasControlPlane: false },
];

/** Whom `auto` asks for. */
export const kubeletUnits: readonly string[] = kubelets.map(({ name }) => name);

/** Whether it is the name of one of these. */
export function isKubelet(name: unknown): name is string {
  return kubelets.some((one) => one.name === name);
}

/**
 * The one unit that is active, or what was found instead: a left-over kubelet.service that is dead
 * is no rival of k3s.
 */
export function activeUnit(
  states: readonly UnitState[],
): Readonly<{ name: string }> | Readonly<{ unfound: string; several: boolean }> {
  const active = states.filter((one) => one.active === "active" || one.active === "reloading");
  const [only] = active;
  if (only !== undefined && active.length === 1) return { name: only.name };
  if (only !== undefined)
    return { unfound: `${active.map(({ name }) => name).join(" and ")} are active`, several: true };
  const there = states
    .filter(({ load }) => load === "loaded")
    .map(({ name, active: state }) => `${name} is ${state}`);
  const unfound =
    there.length > 0 ? there.join(", ") : `none of ${kubeletUnits.join(", ")} is there`;
  return { unfound, several: false };
}

type Policy = "Always" | "Never";

/**
 * Whether the kubelet of this unit is restarted, or left to read its file again. An unknown unit
 * carries no control plane.
 */
export function policyFor(
  flags: Readonly<{ restart: Policy; restartControlPlane: Policy }>,
  unit: string | undefined,
): Policy {
  const carries = kubelets.some((one) => one.name === unit && one.hasControlPlane);
  return flags.restart === "Always" && carries ? flags.restartControlPlane : flags.restart;
}
