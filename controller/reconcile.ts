/**
 * The whole controller on one screen: observe, judge, take one step, report. Every run starts from
 * what exists, so a run may end anywhere, and any number of runs comes to the same end.
 */
import { accept, nobodyAsks, type Verdict } from "./sources/accept.ts";
import { orphans, samePriorities } from "#controller/sources/read/declared.ts";
import type { Extras } from "#controller/sources/read/extras.ts";
import { givenAdditional, givenOriginal, type Given } from "#controller/sources/read/given.ts";
import { takeStep, type Progress } from "./rollout/step.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { keptOf, withdrawals, type Withdrawal } from "./withdrawal/grace.ts";
import { sooner, type Again } from "#kube/loop.ts";
import {
  foreignOf,
  isForeign,
  observe,
  ownedOf,
  type OriginalPlace,
  type Snapshot,
} from "#controller/sources/read/snapshot.ts";
import { owned } from "#kube/client/paths.ts";
import { sourceIds } from "#contract/names.ts";
import type { Report } from "./report/outcome.ts";
import { pinnedOf } from "#controller/objects/daemonset/pinned.ts";
import { platformPause } from "#controller/image/platform.ts";
import { readPublished } from "./objects/global-secret.ts";
import type { Steering } from "./steering.ts";
import { remove, takesAway, type Remover } from "./withdrawal/remove.ts";
import type { Admitted } from "#kube/apply/admitted.ts";
import { readState, writeState } from "./objects/state.ts";

export type Reconciler = Remover &
  Readonly<{
    /** Policy, wishes and agents of this run come from it. */
    steering: Steering;
    /** The same cluster without informers. */
    live: Cluster;
    original: (OriginalPlace & Readonly<{ name: string }>) | undefined;
    extras: Extras;
    /** The API group of another operator that owns the nodes' pull secrets, where there is one. */
    platform: () => Promise<string | undefined>;
    report: Report;
  }>;

/**
 * Seconds to the next run while objects are being deleted: there is nothing to wait for but the
 * API.
 */
const soon: Again = { seconds: 1 };

export async function reconcile(reconciler: Reconciler): Promise<Again | undefined> {
  try {
    reconciler.report.begins(reconciler.steering);
    const again = await run(reconciler);
    reconciler.report.succeeded();
    return again;
  } catch (error) {
    reconciler.report.failed(error);
    throw error;
  }
}

async function run(reconciler: Reconciler): Promise<Again | undefined> {
  const { cluster, live, original, extras, policy, report } = reconciler;
  const extrasOf = (fresh: boolean) => () => extras.read(policy.sources, fresh);
  let snapshot = await observe(cluster, original, extrasOf(false));
  if (isAbsent(snapshot, reconciler) && takesAway(snapshot))
    snapshot = await observe(live, original, extrasOf(true));
  const known = knownOf(snapshot);
  const given = givenOf(snapshot, reconciler);
  if (isAbsent(snapshot, reconciler) && ownedOf(snapshot).length === foreignOf(snapshot).length) {
    report.idle();
    if (given.some(({ kind }) => kind === "extra"))
      await report.verdict(accept({ given, ...known }, policy.merge), snapshot);
    return undefined;
  }
  const absences = withdrawals(given, snapshot, reconciler);
  const held = holdsWithdrawals(reconciler, snapshot);
  const sources = { given: keptOf(given, absences, held), ...known };

  if (nobodyAsks(sources)) {
    snapshot = await forgotten(reconciler, snapshot, absences);
    const removal = await remove(reconciler, snapshot, sources);
    await report.removal(removal, snapshot);
    return removal.again ?? (removal.progress && againAfter(removal.progress, reconciler.admitted));
  }

  const later = held ? undefined : until(absences, reconciler);
  const platform = await reconciler.platform();
  await report.unsupported(platform, snapshot);
  if (platform !== undefined) return sooner(platformPause, later);
  const foreign = foreignOf(snapshot);
  await report.foreign(foreign, snapshot);
  if (foreign.length > 0) return later;
  const absence = absences.get(sourceIds.additional);
  const judged = accept(sources, policy.merge);
  const verdict = {
    ...judged,
    warnings: [
      ...orphans(reconciler.steering.orphans),
      ...samePriorities(policy.sources),
      ...judged.warnings,
    ],
    // A withdrawal that a pause holds is still to come, however long ago it was due.
    withdrawsAt: held ? absence?.begins : beginsOf(absence),
  };
  try {
    return sooner(await serve(reconciler, snapshot, verdict, absences), later);
  } finally {
    // The nodes come first: an Event before the change would keep all of them waiting.
    await report.verdict(verdict, snapshot);
  }
}

async function serve(
  reconciler: Reconciler,
  snapshot: Snapshot,
  verdict: Verdict,
  absences: ReadonlyMap<string, Withdrawal>,
): Promise<Again | undefined> {
  if (verdict.wanted === undefined && absences.size === 0) return undefined;
  if (holdsAll(reconciler, snapshot)) {
    reconciler.report.paused();
    return undefined;
  }
  // The state is written before the Secret: what is in force must be known even if its source
  // breaks in the next moment.
  const state = await writeState(reconciler.cluster, snapshot.state, {
    ...readState(snapshot.state),
    accepted: verdict.accepted,
    absentSince: sincesOf(absences),
    policy: reconciler.steering.accepted?.spec,
    sourcesFrom: reconciler.steering.accepted?.sourcesFrom,
  });
  if (verdict.wanted === undefined) return undefined;
  if (snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined) return soon;
  if (pinnedOf(snapshot.daemonSet) !== undefined) {
    // A pinned DaemonSet is left from a removal, and most nodes have lost their agent. A new one
    // reaches them by its budget, not all of them at once.
    const { uid = "", resourceVersion } = snapshot.daemonSet?.metadata ?? {};
    await reconciler.cluster.remove(owned.daemonSet, uid, resourceVersion);
    return soon;
  }
  if (snapshot.global?.immutable === true) {
    // Somebody made it immutable, which no apply can undo.
    const { uid = "", resourceVersion } = snapshot.global.metadata ?? {};
    await reconciler.cluster.remove(owned.global, uid, resourceVersion);
    return soon;
  }
  const progress = await takeStep(reconciler, { ...snapshot, state }, verdict.wanted);
  await reconciler.report.progress(progress, snapshot);
  return againAfter(progress, reconciler.admitted);
}

/**
 * True under a pause before anything was in force, or after it was given back: then nothing is
 * made.
 */
function holdsAll({ policy }: Reconciler, { global, state }: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  const { intent } = readPublished(global) ?? {};
  return intent === "release" || (intent === undefined && readState(state).served === undefined);
}

/**
 * True under a pause, unless a withdrawal has begun. That goes to its end, so that no credential
 * stays half withdrawn.
 */
function holdsWithdrawals({ policy }: Reconciler, { global }: Snapshot): boolean {
  const { intent } = readPublished(global) ?? {};
  return policy.managementState === "Paused" && intent !== undefined && intent !== "release";
}

type Asking = Pick<Reconciler, "original" | "policy">;

/**
 * The sources as they were found, highest first. Under Withdrawn there is only the original; the
 * user's Secrets exist, but do not count.
 */
function givenOf(snapshot: Snapshot, { original, policy }: Asking): readonly Given[] {
  const last = original && givenOriginal(original.name, snapshot.original);
  if (policy.managementState === "Withdrawn") return last ? [last] : [];
  const { additional } = snapshot;
  // A Secret that waits for somebody's finalizer was deleted by its owner.
  const there = additional?.metadata?.deletionTimestamp === undefined ? additional : undefined;
  return [givenAdditional(there ?? "absent"), ...snapshot.extras, ...(last ? [last] : [])];
}

const knownOf = ({ global, state }: Snapshot) => ({
  published: readPublished(global),
  state: readState(state),
});

/**
 * True when no source supplies anything now. A Secret that may be created again within its grace
 * period counts as absent here.
 */
function isAbsent(snapshot: Snapshot, asking: Asking): boolean {
  return nobodyAsks({ given: givenOf(snapshot, asking), ...knownOf(snapshot) });
}

/**
 * Forgets withdrawn credentials, so that they are neither a source's last accepted document nor the
 * last served content; and remembers the grace periods, so that none begins again.
 */
async function forgotten(
  { cluster }: Reconciler,
  snapshot: Snapshot,
  absences: ReadonlyMap<string, Withdrawal>,
): Promise<Snapshot> {
  const { global, state, daemonSet } = snapshot;
  if ((global === undefined && daemonSet === undefined) || isForeign(state)) return snapshot;
  const before = readState(state);
  const original = Object.entries(before.accepted).filter(([id]) => id === sourceIds.original);
  const served = before.served?.intent === "release" ? before.served : undefined;
  return {
    ...snapshot,
    state: await writeState(cluster, state, {
      ...before,
      accepted: Object.fromEntries(original),
      served,
      absentSince: sincesOf(absences),
    }),
  };
}

const sincesOf = (absences: ReadonlyMap<string, Withdrawal>) =>
  new Map([...absences].map(([id, { since }]) => [id, since] as const));

/** When the withdrawal begins; undefined for a source that exists, or is withdrawn already. */
const beginsOf = (absence: Withdrawal | undefined) =>
  absence?.due === false ? absence.begins : undefined;

/** When the first grace period is over. */
function until(absences: ReadonlyMap<string, Withdrawal>, { now }: Reconciler): Again | undefined {
  const ends = [...absences.values()].flatMap((one) => beginsOf(one)?.getTime() ?? []);
  if (ends.length === 0) return undefined;
  return { seconds: Math.max(0, (Math.min(...ends) - now().getTime()) / 1000) };
}

function againAfter({ turn, nudgeIn }: Progress, { againSeconds }: Admitted): Again | undefined {
  if (turn.kind === "served") {
    const seconds = Math.min(turn.again ?? Infinity, againSeconds ?? Infinity);
    return seconds === Infinity ? undefined : { seconds };
  }
  const { seconds } = turn.kind === "wait" ? { seconds: turn.again } : soon;
  return { seconds: Math.min(seconds, nudgeIn || seconds) };
}
