/**
 * The units that run a kubelet, by distribution; which of them is this node's, and whether it may
 * be restarted. Pure.
 *
 * k3s and RKE2 have two of them in every cluster, one for servers and one for workers, so a name
 * for all nodes is wrong on half.
 */
import { auto } from "../contract/values.ts";
import type { Facts } from "./facts.ts";
import type { Journal, JournalReading } from "./journal.ts";
import type { UnitState } from "./unit.ts";

/** A restart of what `carries` a control plane takes the API server or its supervisor along. */
const kubelets: readonly Readonly<{ name: string; carries: boolean }>[] = [
  // kubeadm, and every distribution that packs the kubelet by itself.
  { name: "kubelet.service", carries: false },
  { name: "k3s.service", carries: true },
  { name: "k3s-agent.service", carries: false },
  { name: "rke2-server.service", carries: true },
  { name: "rke2-agent.service", carries: false },
  { name: "k0scontroller.service", carries: true },
  { name: "k0sworker.service", carries: false },
  { name: "snap.microk8s.daemon-kubelite.service", carries: true },
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
export function found(
  states: readonly UnitState[],
): Readonly<{ name: string }> | Readonly<{ unfound: string; several: boolean }> {
  const active = states.filter((one) => one.active === "active" || one.active === "reloading");
  const [only] = active;
  if (only !== undefined && active.length === 1) return { name: only.name };
  if (only !== undefined)
    return { unfound: `${active.map(({ name }) => name).join(" and ")} are active`, several: true };
  const there = states.filter(({ load }) => load === "loaded").map(({ name, active: state }) => `${name} is ${state}`);
  const unfound = there.length > 0 ? there.join(", ") : `none of ${kubeletUnits.join(", ")} is there`;
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
  const carries = kubelets.some((one) => one.name === unit && one.carries);
  return flags.restart === "Always" && carries ? flags.restartControlPlane : flags.restart;
}

/**
 * The unit that a flag names, or that the journal does: a change under way owes it its restart,
 * even if it is down now.
 */
export function owing(flag: string, reading: JournalReading): string | undefined {
  if (flag !== auto) return flag;
  if (reading.kind === "journal") return reading.journal.unit;
  return reading.kind === "newer" ? reading.unit : undefined;
}

/** What a journal says of the unit that a change begins with. */
export function boundTo({ unit }: Pick<Facts, "unit">): Pick<Journal, "unit"> {
  return unit !== undefined && "name" in unit ? { unit: unit.name } : {};
}

/**
 * The journal of a change under way, as it goes on with this unit. If a flag names another one than
 * it began with, what was seen of that says nothing about this one. A journal without a name takes
 * the one that was found.
 */
export function rebound(journal: Journal, unit: Facts["unit"]): Journal {
  if (journal.phase === "applied" || unit === undefined || !("name" in unit) || unit.load !== "loaded") return journal;
  const { name, invocation } = unit;
  if (journal.unit === name) return journal;
  if (journal.unit === undefined) return { ...journal, unit: name };
  const { settling: _settling, owed: _owed, ...rest } = journal;
  const next = { ...rest, unit: name, tried: 0, called: false };
  if (journal.phase === "applying") return { ...next, matters: journal.matters || journal.owed !== undefined };
  if (journal.phase === "restoring") return next;
  return { ...next, phase: journal.phase === "reviving" ? "reviving" : "restarting", owed: invocation };
}
