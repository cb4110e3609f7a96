/**
 * Keeps the agents in the kubelet directory where they have written. Agents in another one would
 * find nothing to take back there: credential and folder would stay in the old directory for ever.
 * Pure.
 */
import { readPublished } from "#controller/objects/global-secret.ts";
import { readState } from "#controller/objects/state.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { readRollout } from "./state.ts";

/**
 * The directory of the agents that exist, where the installer names another one and something may
 * be in force; else undefined. Nothing is, while no node has proved anything: so a wrong directory,
 * in which no agent takes anything (GPS261), can be corrected.
 */
export function keptDirectory(
  { daemonSet, global, state }: Pick<Snapshot, "daemonSet" | "global" | "state">,
  wanted: string,
): string | undefined {
  const published = readPublished(global);
  if (published === undefined) return undefined;
  const isProved = readRollout(readState(state).rollout).word || published.served !== "nothing";
  if (!isProved && published.intent !== "release") return undefined;
  const { volumes } = daemonSet?.spec?.template.spec ?? {};
  const present = volumes?.find(({ name }) => name === "kubelet")?.hostPath?.path;
  return present === wanted ? undefined : present;
}
