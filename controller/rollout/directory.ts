/**
 * The kubelet directory where the agents have written. The agents stay there even if the installer
 * names another directory. In the other directory the agents would find nothing to remove, and the
 * credentials in the old directory would remain for ever. Pure.
 */
import { catalogue } from "#contract/agent-codes.ts";
import { recall } from "#controller/objects/annotations.ts";
import { kubeletDirectoryOf } from "#controller/objects/container.ts";
import { readPublished, type Published } from "#controller/objects/global-secret.ts";
import { readState, type RememberedState } from "#controller/objects/state.ts";
import type { Snapshot as Objects } from "#controller/sources/snapshot.ts";
import { isSameGrant, type Memory, mostListed } from "./facts.ts";
import { readRollout } from "./observe.ts";
import type { AgentPod } from "./pods.ts";

type KeptObjects = Pick<Objects, "daemonSet" | "global" | "state">;

/**
 * The recorded directory, if the installer names another directory; otherwise undefined. The record
 * does not depend on the revision, the mode or any other object, because content stays in force
 * when these change. But if every agent reports that the recorded directory is not its kubelet's
 * (GPS261), nothing can be in force there any more, and the agents use the installer's directory.
 */
export function keptDirectory(
  objects: KeptObjects,
  pods: Iterable<AgentPod>,
  wanted: string,
): string | undefined {
  const { directory = unrecordedDirectory(objects) } = readState(objects.state);
  if (directory === undefined || directory === "" || directory === wanted) return undefined;
  return areElsewhere(objects, pods) ? undefined : directory;
}

export type DirectoryRecord = Pick<RememberedState, "directory" | "directoryOf">;

type Seen = Readonly<{
  pods: readonly AgentPod[];
  memory: Pick<Memory, "pods">;
  /** The pods that are about to be granted content. */
  granted: readonly AgentPod[];
  /** The kubelet directory that the agents' pods mount, or will mount. */
  wanted: string;
}>;

/**
 * The record to write before these grants. The directory is recorded before the first grant,
 * because agents write config.json long before they prove the content. The controller empties the
 * record if the agents refuse all grants because the directory is not their kubelet's.
 */
export function directoryRecord(objects: KeptObjects, seen: Seen): DirectoryRecord {
  const { directory, directoryOf } = readState(objects.state);
  const { pods, memory, granted, wanted } = seen;
  const published = readPublished(objects.global);
  const taken = pods.find((pod) => hasTaken(pod, published, memory));
  if (directory === undefined || directory === "") {
    const found = taken?.directory ?? unrecordedDirectory(objects);
    return found === undefined
      ? firstGrant(granted, directory, recall(objects.global).rolled === false)
      : { directory: found, directoryOf: undefined };
  }
  if (directory !== wanted && areElsewhere(objects, pods))
    return { directory: wanted, directoryOf: undefined };
  if (directoryOf === undefined) return { directory, directoryOf };
  const uids = new Set(directoryOf.split(" "));
  const known = pods.filter(({ uid }) => uids.has(uid));
  if (taken !== undefined || known.length < uids.size) return { directory, directoryOf: undefined };
  if (known.every((pod) => isElsewhere(pod))) return firstGrant(granted, "", true);
  return { directory, directoryOf: uidsOf([...uids, ...granted.map(({ uid }) => uid)]) };
}

/** Undefined if there are too many uids for the state. Then the record stays until a withdrawal. */
function uidsOf(uids: readonly string[]): string | undefined {
  const all = [...new Set(uids)];
  return all.length > mostListed ? undefined : all.join(" ");
}

/**
 * The record of these grants. If nothing was granted before, the record lists the pods' uids, so
 * that the controller can empty the record if all these pods refuse their grants.
 */
function firstGrant(
  granted: readonly AgentPod[],
  before: string | undefined,
  isFirst: boolean,
): DirectoryRecord {
  const [first] = granted;
  if (first?.directory === undefined) return { directory: before, directoryOf: undefined };
  const uids = isFirst || before === "" ? uidsOf(granted.map(({ uid }) => uid)) : undefined;
  return { directory: first.directory, directoryOf: uids };
}

/**
 * True if the agent applied the newest content, whether or not the kubelet worked with this
 * content.
 */
function hasTaken(
  { uid, grant, terminationMessage: last, directory }: AgentPod,
  published: Published | undefined,
  { pods }: Pick<Memory, "pods">,
): boolean {
  if (published?.intent !== "apply" || directory === undefined) return false;
  const hasReported = last?.kind === "proved" || last?.kind === "failed";
  if (hasReported && last.revision === published.revision) return true;
  return pods.get(uid)?.provedAt !== undefined && grant?.revision === published.revision;
}

/**
 * True if every node that should have an agent has an agent that reports the wrong directory. False
 * if a node has no pod, because that node might have entries.
 */
function areElsewhere({ daemonSet }: KeptObjects, pods: Iterable<AgentPod>): boolean {
  const live = [...pods].filter(({ isDeleting }) => !isDeleting);
  const { desiredNumberScheduled = 0 } = daemonSet?.status ?? {};
  const isEach = live.length > 0 && live.length >= desiredNumberScheduled;
  return isEach && live.every((pod) => isElsewhere(pod));
}

const elsewhere = new RegExp(`^${catalogue.elsewhere[0]}\\b`);

/** True if the agent has refused its last grant because the directory is not its kubelet's. */
function isElsewhere({ grant, terminationMessage: last, message = "" }: AgentPod): boolean {
  if (last?.kind !== "unfit" || !elsewhere.test(message)) return false;
  return grant === undefined || grant.revision === 0 || isSameGrant(last, grant);
}

/**
 * The agents' directory, if content might be in force without a record, because an older version
 * recorded none, or because someone deleted the state.
 */
function unrecordedDirectory({ daemonSet, global, state }: KeptObjects): string | undefined {
  const published = readPublished(global);
  const known = readState(state);
  if (published === undefined || known.directory !== undefined) return undefined;
  const { rolled, released } = recall(global);
  const isInForce =
    published.intent === "release"
      ? rolled !== false && released !== published.revision
      : readRollout(known.rollout).word || published.served !== "nothing";
  return isInForce ? kubeletDirectoryOf(daemonSet?.spec?.template.spec) : undefined;
}
