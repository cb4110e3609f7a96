/**
 * Keeps the agents in the kubelet directory where they have written. Agents in another one would
 * find nothing to take back there: credential and folder would stay in the old directory for ever.
 * Pure.
 */
import type { Memory } from "#controller/grants/memory.ts";
import { kubeletDirectoryOf } from "#controller/objects/daemonset/container.ts";
import { type Published, readPublished } from "#controller/objects/global-secret.ts";
import { readState } from "#controller/objects/state.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import type { AgentPod } from "./pods.ts";
import { readRollout } from "./state.ts";

type Objects = Pick<Snapshot, "daemonSet" | "global" | "state">;

/**
 * The directory where content was first proved, if the installer names another one; else undefined.
 * The record does not depend on the revision, the mode or any other object, because content stays
 * in force through all of their changes. Without a record nothing is in force, so a wrong
 * directory, in which no agent takes anything (GPS261), can be corrected.
 */
export function keptDirectory(objects: Objects, wanted: string): string | undefined {
  const { directory = directoryBefore(objects) } = readState(objects.state);
  return directory === wanted ? undefined : directory;
}

/** The directory to record; undefined if it is recorded already, or nothing is proved yet. */
export function newDirectory(
  objects: Objects,
  pods: Iterable<AgentPod>,
  { pods: remembered }: Pick<Memory, "pods">,
): string | undefined {
  if (readState(objects.state).directory !== undefined) return undefined;
  const published = readPublished(objects.global);
  if (published?.intent !== "apply") return undefined;
  for (const pod of pods) {
    const isProved = remembered.get(pod.uid)?.provedAt !== undefined;
    if (pod.directory !== undefined && hasTaken(pod, published, isProved)) return pod.directory;
  }
  return directoryBefore(objects);
}

/** True if the agent took the newest content, whether its kubelet was well with it or not. */
function hasTaken({ grant, word }: AgentPod, { revision }: Published, isProved: boolean): boolean {
  const hasSpoken = word?.kind === "proved" || word?.kind === "failed";
  return (hasSpoken && word.revision === revision) || (isProved && grant?.revision === revision);
}

/** The agents' directory where an older version, which recorded none, has content in force. */
function directoryBefore({ daemonSet, global, state }: Objects): string | undefined {
  const published = readPublished(global);
  if (published?.intent !== "apply") return undefined;
  const isProved = readRollout(readState(state).rollout).word || published.served !== "nothing";
  return isProved ? kubeletDirectoryOf(daemonSet?.spec?.template.spec) : undefined;
}
