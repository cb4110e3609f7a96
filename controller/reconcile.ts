/**
 * The whole controller on one screen: look, judge, do one step, tell. Every run starts from what
 * exists, so a run may end anywhere, and any number of runs comes to the same end.
 */
import { accept, type Verdict } from "./sources/accept.ts";
import { takeStep, type Progress } from "./rollout/step.ts";
import type { Cluster } from "#kube/client.ts";
import { absenceOf, withdrawal, type Withdrawal } from "./withdrawal/grace.ts";
import type { Again } from "#kube/loop.ts";
import {
  foreignOf,
  isForeign,
  observe,
  ownedOf,
  type OriginalPlace,
  type Snapshot,
} from "./sources/snapshot.ts";
import { owned } from "#kube/paths.ts";
import type { Report } from "./report/outcome.ts";
import { pinnedOf } from "./objects/pinned.ts";
import { platformPause } from "./platform.ts";
import { readPublished } from "./objects/global-secret.ts";
import { remove, takesAway, type Remover } from "./withdrawal/remove.ts";
import type { Admitted } from "#kube/apply/admitted.ts";
import { readState, writeState } from "./objects/state.ts";

export type Reconciler = Remover &
  Readonly<{
    /** The same cluster without informers. */
    live: Cluster;
    original: (OriginalPlace & Readonly<{ name: string }>) | undefined;
    /** The API group of another operator that owns the nodes' pull secrets, where there is one. */
    platform: () => Promise<string | undefined>;
    report: Report;
  }>;

/** While objects vanish there is nothing to wait for but the API. */
const soon: Again = { seconds: 1 };

export async function reconcile(reconciler: Reconciler): Promise<Again | undefined> {
  try {
    const again = await run(reconciler);
    reconciler.report.succeeded();
    return again;
  } catch (error) {
    await reconciler.report.failed(error);
    throw error;
  }
}

async function run(reconciler: Reconciler): Promise<Again | undefined> {
  const { cluster, live, original, policy, report } = reconciler;
  let snapshot = await observe(cluster, original);
  if (isAbsent(snapshot) && takesAway(snapshot)) snapshot = await observe(live, original);
  const absent = isAbsent(snapshot);
  if (absent && ownedOf(snapshot).length === foreignOf(snapshot).length) {
    report.idle();
    return undefined;
  }
  const absence = absent ? withdrawal(absenceOf(snapshot, reconciler)) : undefined;
  const sources = {
    additional: absent ? ("kept" as const) : snapshot.additional,
    original: snapshot.original,
    originalName: original?.name,
    published: readPublished(snapshot.global),
    state: readState(snapshot.state),
  };

  if (absence?.due) {
    snapshot = await forgotten(reconciler, snapshot, absence);
    const removal = await remove(reconciler, snapshot, sources);
    await report.removal(removal, snapshot);
    return removal.again ?? (removal.progress && againAfter(removal.progress, reconciler.admitted));
  }

  const platform = await reconciler.platform();
  await report.unsupported(platform, snapshot);
  if (platform !== undefined) return sooner(platformPause, until(absence, reconciler));
  const foreign = foreignOf(snapshot);
  await report.foreign(foreign, snapshot);
  if (foreign.length > 0) return until(absence, reconciler);
  const verdict = { ...accept(sources, policy.merge), withdrawsAt: absence?.begins };
  try {
    return sooner(
      await serve(reconciler, snapshot, verdict, absence?.since),
      until(absence, reconciler),
    );
  } finally {
    // The nodes first: an Event before the change would keep all of them waiting.
    await report.verdict(verdict, snapshot);
  }
}

async function serve(
  reconciler: Reconciler,
  snapshot: Snapshot,
  verdict: Verdict,
  absentSince: Date | undefined,
): Promise<Again | undefined> {
  if (verdict.wanted === undefined && absentSince === undefined) return undefined;
  // Before it is published: what is in force must be known when its source breaks in the next
  // moment.
  const state = await writeState(reconciler.cluster, snapshot.state, {
    ...readState(snapshot.state),
    accepted: verdict.accepted,
    absentSince,
  });
  if (verdict.wanted === undefined) return undefined;
  if (snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined) return soon;
  if (pinnedOf(snapshot.daemonSet) !== undefined) {
    // A removal's rest, which most nodes have left. Born anew it comes to them by its budget, not
    // to all of them at once.
    const { uid = "", resourceVersion } = snapshot.daemonSet?.metadata ?? {};
    await reconciler.cluster.remove(owned.daemonSet, uid, resourceVersion);
    return soon;
  }
  if (snapshot.global?.immutable === true) {
    // Somebody's edit, and the one that no apply can undo.
    const { uid = "", resourceVersion } = snapshot.global.metadata ?? {};
    await reconciler.cluster.remove(owned.global, uid, resourceVersion);
    return soon;
  }
  const progress = await takeStep(reconciler, { ...snapshot, state }, verdict.wanted);
  await reconciler.report.progress(progress, verdict, snapshot);
  return againAfter(progress, reconciler.admitted);
}

/** A Secret that waits for a finalizer of somebody else has been deleted by its owner. */
function isAbsent({ additional }: Snapshot): boolean {
  return additional === undefined || additional.metadata?.deletionTimestamp !== undefined;
}

/**
 * What is withdrawn is to be the last good of nobody, nor the last served; and the grace is not to
 * begin anew.
 */
async function forgotten(
  { cluster }: Reconciler,
  snapshot: Snapshot,
  { since }: Withdrawal,
): Promise<Snapshot> {
  const { global, state, daemonSet } = snapshot;
  if ((global === undefined && daemonSet === undefined) || isForeign(state)) return snapshot;
  const before = readState(state);
  const { additional: _, ...accepted } = before.accepted;
  const served = before.served?.intent === "release" ? before.served : undefined;
  return {
    ...snapshot,
    state: await writeState(cluster, state, { ...before, accepted, served, absentSince: since }),
  };
}

function until(absence: Withdrawal | undefined, { now }: Reconciler): Again | undefined {
  return absence && { seconds: Math.max(0, (absence.begins.getTime() - now().getTime()) / 1000) };
}

function sooner(one: Again | undefined, other: Again | undefined): Again | undefined {
  return one && other ? { seconds: Math.min(one.seconds, other.seconds) } : (one ?? other);
}

function againAfter({ turn, nudgeIn }: Progress, { againSeconds }: Admitted): Again | undefined {
  if (turn.kind === "served") {
    const seconds = Math.min(turn.again ?? Infinity, againSeconds ?? Infinity);
    return seconds === Infinity ? undefined : { seconds };
  }
  const { seconds } = turn.kind === "wait" ? { seconds: turn.again } : soon;
  return { seconds: Math.min(seconds, nudgeIn || seconds) };
}
