/** One step of the removal, after the additional Secret was deleted. */
import { foreignOf, ownedOf, type Snapshot } from "#controller/sources/snapshot.ts";
import { owned } from "#kube/client/paths.ts";
import { releasedIn } from "../objects/annotations.ts";
import { readPublished } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import { type NodeObject, objectPath } from "../rollout/objects.ts";
import { mayHaveEntries } from "../rollout/release.ts";
import { type Followed, inParallel } from "../rollout/write.ts";
import type { Sources } from "../sources/accept.ts";
import { release } from "./release.ts";
import {
  type DeletedName,
  overdue,
  nothingHappened,
  type Removal,
  type RemovalContext,
  nextWithdrawalStep,
  pauseAfter,
  type WithdrawalInput,
  type WithdrawalStep,
} from "./withdrawal.ts";

/**
 * True if the next step deletes an object or might complete the withdrawal. Such a step needs a
 * fresh read, because an informer can lag. False if nothing is left.
 */
export function deletesNext(observed: Snapshot): boolean {
  const snapshot = ours(observed);
  return ownedOf(snapshot).length > 0 && !needsRelease(snapshot);
}

export async function remove(
  context: RemovalContext,
  observed: Snapshot,
  sources: Sources,
): Promise<Removal> {
  const snapshot = ours(observed);
  const { cluster, pods, objects } = context;
  let next = inputOf(snapshot, context);
  let step = nextWithdrawalStep(next);
  if (step === "release") return release(context, snapshot, sources);
  const isSynced = pods.view.synced && objects.view.synced;
  const done: WithdrawalStep[] = [];
  let [unchanged, abandoned] = [0, 0];
  if (step === "await daemonSet" || !isSynced) unchanged = context.unchangedSeconds(step);
  else if (step === "await agents") {
    unchanged = context.unchangedSeconds(`${step} ${next.agents}`);
    // These nodes have no entries any more, so a pod that does not end must not block the deletion
    // of the other objects.
    if (overdue(context, unchanged, []) !== undefined) {
      abandoned = next.agents;
      next = { ...next, agents: 0 };
      step = nextWithdrawalStep(next);
    }
  }
  // The same run takes all further steps that need no new observation. Each observation adds a
  // quarter of a second to the removal.
  while (step.startsWith("delete ")) {
    const name = step.slice("delete ".length) as DeletedName;
    // Before the pods and the NodePullSecrets have been read, nothing shows that no agent is left.
    if (!isSynced && name !== "daemonSet") break;
    if (name === "nodePullSecrets") await deleteObjects(context, endingObjects(context));
    else {
      const { uid = "", resourceVersion } = snapshot[name]?.metadata ?? {};
      await cluster.remove(owned[name], uid, resourceVersion);
    }
    done.push(step);
    if (name === "daemonSet") break;
    next = { ...next, exists: new Set([...next.exists].filter((other) => other !== name)) };
    step = nextWithdrawalStep(next);
  }
  return {
    ...nothingHappened,
    step: done.at(-1) ?? step,
    revision: readPublished(snapshot.global)?.revision ?? 0,
    overdue: overdue(context, unchanged, [
      step === "await daemonSet" ? "the DaemonSet's finalizers" : "agents' pods",
    ]),
    abandoned,
    again: { seconds: pauseAfter(unchanged) },
  };
}

/** Whether nodes must remove our entries before anything is deleted. */
function needsRelease({ global, state, daemonSet }: Snapshot): boolean {
  // Only a withdrawal can be confirmed as released.
  const { revision = 0, intent } = readPublished(global) ?? {};
  const isReleased = intent === "release" && revision > 0 && releasedIn(global) === revision;
  // A completed withdrawal has deleted the rollout from the state.
  const wasDeployed = daemonSet !== undefined || readState(state).rollout !== undefined;
  return wasDeployed && !isReleased;
}

function inputOf(snapshot: Snapshot, context: RemovalContext): WithdrawalInput {
  const agents = [...context.pods.view.items.values()];
  const objects = endingObjects(context).length > 0 ? (["nodePullSecrets"] as const) : [];
  return {
    needsRelease: needsRelease(snapshot),
    exists: new Set([...ownedOf(snapshot).map(([name]) => name), ...objects]),
    terminating: snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined,
    // The pod of an unreachable node does not count, because it ends when the node returns.
    agents: agents.filter(({ isUnreachable }) => !isUnreachable).length,
  };
}

/** The NodePullSecrets of nodes that have none of our entries. */
const endingObjects = ({ objects }: Pick<Followed, "objects">): readonly NodeObject[] =>
  [...objects.view.items.values()].filter((object) => !mayHaveEntries(object));

/** The names of nodes that might still have our entries. Their NodePullSecrets stay. */
export const leftBehindIn = ({ objects }: Pick<Followed, "objects">): readonly string[] =>
  [...objects.view.items.values()].filter(mayHaveEntries).map(({ name }) => name);

/** If an agent has reported meanwhile, the deletion fails with a conflict, and is decided again. */
const deleteObjects = (
  { cluster }: RemovalContext,
  objects: readonly NodeObject[],
): Promise<void> =>
  inParallel(objects, ({ name, uid, resourceVersion }) =>
    cluster.remove(objectPath(name), uid, resourceVersion),
  );

/**
 * Keeps only our own objects. An object of someone else under one of our names does not block the
 * removal.
 */
function ours(snapshot: Snapshot): Snapshot {
  const foreign = foreignOf(snapshot).map((name) => [name, undefined] as const);
  return { ...snapshot, ...Object.fromEntries(foreign) };
}
