/**
 * The whole controller on one screen: look, judge, do one step, tell. Every run starts from what exists, so a run may end
 * anywhere, and any number of runs comes to the same end.
 */
import type { MergePolicy } from "../pullsecret/merge.ts";
import { accept, type Verdict } from "./accept.ts";
import { deploy, type Deployment, type Progress } from "./deploy.ts";
import type { Cluster } from "./kube.ts";
import type { Again } from "./loop.ts";
import { foreignOf, observe, ownedOf, type OriginalPlace, type Snapshot } from "./observe.ts";
import { owned, type OwnedName } from "./paths.ts";
import { readPublished } from "./publish.ts";
import { remove, takesAway, type Removal } from "./remove.ts";

export type Reconciler = Deployment &
  Readonly<{
    /** The same cluster without mirrors. */
    live: Cluster;
    original: (OriginalPlace & Readonly<{ name: string }>) | undefined;
    policy: MergePolicy;
    report: Report;
  }>;

/** Where the outcome of a run goes: Events, conditions, metrics, log. */
export type Report = Readonly<{
  foreign: (names: readonly OwnedName[], snapshot: Snapshot) => Promise<void>;
  verdict: (verdict: Verdict, snapshot: Snapshot) => Promise<void>;
  progress: (progress: Progress, verdict: Verdict, snapshot: Snapshot) => Promise<void>;
  removal: (removal: Removal, snapshot: Snapshot) => Promise<void>;
}>;

/** While objects vanish there is nothing to wait for but the API. */
const soon: Again = { seconds: 1 };

export async function reconcile(reconciler: Reconciler): Promise<Again | undefined> {
  const { cluster, live, original, policy, report } = reconciler;
  let snapshot = await observe(cluster, original);
  if (isAbsent(snapshot) && takesAway(snapshot)) snapshot = await observe(live, original);
  const sources = {
    additional: snapshot.additional,
    original: snapshot.original,
    originalName: original?.name,
    published: readPublished(snapshot.global),
  };

  if (isAbsent(snapshot)) {
    if (ownedOf(snapshot).length === foreignOf(snapshot).length) return undefined;
    const removal = await remove(reconciler, snapshot, sources, policy);
    await report.removal(removal, snapshot);
    return removal.progress === undefined ? soon : againAfter(removal.progress);
  }

  const foreign = foreignOf(snapshot);
  if (foreign.length > 0) {
    await report.foreign(foreign, snapshot);
    return undefined;
  }
  const verdict = accept(sources, policy);
  try {
    return await serve(reconciler, snapshot, verdict);
  } finally {
    // The nodes first: an Event before the change would keep all of them waiting.
    await report.verdict(verdict, snapshot);
  }
}

async function serve(reconciler: Reconciler, snapshot: Snapshot, verdict: Verdict): Promise<Again | undefined> {
  if (verdict.wanted === undefined) return undefined;
  if (snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined) return soon;
  if (snapshot.global?.immutable === true) {
    // Somebody's edit, and the one that no apply can undo.
    await reconciler.cluster.remove(owned.global, snapshot.global.metadata?.uid ?? "");
    return soon;
  }
  const progress = await deploy(reconciler, snapshot, verdict.wanted);
  await reconciler.report.progress(progress, verdict, snapshot);
  return againAfter(progress);
}

/** A Secret that waits for a finalizer of somebody else has been deleted by its owner. */
function isAbsent({ additional }: Snapshot): boolean {
  return additional === undefined || additional.metadata?.deletionTimestamp !== undefined;
}

function againAfter({ turn, nudgeIn }: Progress): Again | undefined {
  if (turn.kind === "served") return undefined;
  const { seconds } = turn.kind === "wait" && turn.again !== undefined ? { seconds: turn.again } : soon;
  return { seconds: Math.min(seconds, nudgeIn || seconds) };
}
