/** One step of the removal, after the additional Secret was deleted. */
import type { V1ObjectMeta, V1Node, V1Pod } from "@kubernetes/client-node";
import { ownedOf, type Snapshot } from "#controller/sources/snapshot.ts";
import { isOurs } from "#kube/client/ownership.ts";
import { owned, collections } from "#kube/client/paths.ts";
import { recall } from "../objects/annotations.ts";
import { readPublished, type Published } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import type { Sources } from "../sources/accept.ts";
import { release } from "./release.ts";
import {
  overdue,
  nothingHappened,
  type Removal,
  type RemovalContext,
  nextWithdrawalStep,
  pauseAfter,
  type WithdrawalInput,
  type WithdrawalStep,
} from "./withdrawal.ts";
import { agentName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isAgent } from "#controller/rollout/pods.ts";

/**
 * True if the next step deletes an object or might complete the withdrawal. Such a step needs a
 * fresh read, because an informer can lag. False if nothing is left.
 */
export function deletesNext(observed: Snapshot): boolean {
  const snapshot = ours(observed);
  if (ownedOf(snapshot).length === 0) return false;
  return nextWithdrawalStep(inputOf(snapshot)) !== "release";
}

export async function remove(
  context: RemovalContext,
  observed: Snapshot,
  sources: Sources,
): Promise<Removal> {
  const snapshot = ours(observed);
  const { cluster } = context;
  const revision = readPublished(snapshot.global)?.revision ?? 0;
  let next = inputOf(snapshot);
  let step = nextWithdrawalStep(next);
  if (step === "release") return release(context, snapshot, sources);
  const done: WithdrawalStep[] = [];
  let [unchanged, abandoned] = [0, 0];
  if (step === "await daemonSet") unchanged = context.unchangedSeconds(step);
  if (step === "count agents") {
    const agentCount = await agentsLeft(cluster);
    unchanged = context.unchangedSeconds(`${step} ${agentCount}`);
    // These nodes have no entries any more, so a pod that does not end must not block the deletion
    // of the other objects.
    if (overdue(context, unchanged, []) !== undefined) abandoned = agentCount;
    next = { ...next, agents: agentCount - abandoned };
    step = nextWithdrawalStep(next);
  }
  // The same run takes all further steps that need no new observation. Each observation adds a
  // quarter of a second to the removal.
  while (step.startsWith("delete ")) {
    const name = step.slice("delete ".length) as keyof WithdrawalInput["exists"];
    const { uid = "", resourceVersion } = snapshot[name]?.metadata ?? {};
    await cluster.remove(owned[name], uid, resourceVersion);
    done.push(step);
    if (name === "daemonSet") break;
    next = { ...next, exists: { ...next.exists, [name]: false } };
    step = nextWithdrawalStep(next);
  }
  return {
    ...nothingHappened,
    step: done.at(-1) ?? step,
    revision,
    overdue: overdue(context, unchanged, [
      step === "await daemonSet" ? "the DaemonSet's finalizers" : "agents' pods",
    ]),
    abandoned,
    again: { seconds: pauseAfter(unchanged) },
  };
}

function inputOf(snapshot: Snapshot): WithdrawalInput {
  const notes = recall(snapshot.global);
  const published = readPublished(snapshot.global);
  const state = readState(snapshot.state);
  return {
    rolled:
      notes.rolled ??
      // If our note is missing but the DaemonSet exists, its agents might have changed nodes.
      (snapshot.daemonSet !== undefined ||
        // A completed withdrawal has deleted the rollout from the state.
        state.rollout !== undefined),
    released: notes.released === (published?.revision ?? 0) && withdraws(published),
    exists: {
      daemonSet: snapshot.daemonSet !== undefined,
      roleBinding: snapshot.roleBinding !== undefined,
      role: snapshot.role !== undefined,
      serviceAccount: snapshot.serviceAccount !== undefined,
      global: snapshot.global !== undefined,
      state: snapshot.state !== undefined,
    },
    terminating: snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined,
    agents: undefined,
  };
}

/** True when the revision is a withdrawal. Only such a revision can be confirmed as released. */
function withdraws(published: Published | undefined): boolean {
  return published !== undefined && published.revision > 0 && published.intent === "release";
}

/**
 * Keeps only our own objects. An object of someone else under one of our names does not block the
 * removal.
 */
function ours(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    state: keep(snapshot.state),
    global: keep(snapshot.global),
    serviceAccount: keep(snapshot.serviceAccount),
    role: keep(snapshot.role),
    roleBinding: keep(snapshot.roleBinding),
    daemonSet: keep(snapshot.daemonSet),
  };
}

function keep<T extends { metadata?: V1ObjectMeta }>(object: T | undefined): T | undefined {
  return object !== undefined && isOurs(object.metadata) ? object : undefined;
}

/**
 * The most pods that the controller reads, because there can be 5,000. A hundred pods take 0.5 MB.
 * The limit also bounds how many nodes the controller reads.
 */
const page = 100;

/**
 * How many agents' pods are left on Ready nodes, counted up to 100. The pod of an unreachable node
 * does not count, because it ends when the node returns. If the pods fill more than one page, the
 * nodes are not read.
 */
export async function agentsLeft(cluster: Cluster): Promise<number> {
  const { items, metadata } = await read<V1Pod>(cluster, collections.pods, {
    labelSelector: `name=${agentName}`,
    limit: String(page),
  });
  const ours = items.filter(isAgent);
  if (metadata?.continue) return ours.length;
  let count = 0;
  for (const { spec } of ours)
    if (spec?.nodeName !== undefined && (await isReady(cluster, spec.nodeName))) count += 1;
  return count;
}

/** Lists one node instead of getting it, because a `get` needs an additional right. */
async function isReady(cluster: Cluster, name: string): Promise<boolean> {
  const { items } = await read<V1Node>(cluster, collections.nodes, {
    fieldSelector: `metadata.name=${name}`,
  });
  return (
    items[0]?.status?.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ) ?? false
  );
}

type List<T> = { items: readonly T[]; metadata?: { continue?: string } };

async function read<T>(
  cluster: Cluster,
  collection: string,
  query: Record<string, string>,
): Promise<List<T>> {
  return (
    (await cluster.get<List<T>>(`${collection}?${new URLSearchParams(query)}`)) ?? { items: [] }
  );
}
