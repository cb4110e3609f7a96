/**
 * The whole controller on one screen: observe, judge, take one step, report. Every run starts from
 * what exists, so a run may end anywhere, and any number of runs comes to the same end.
 */
import { sourceIds } from "#contract/names.ts";
import { platformPause } from "#controller/image/platform.ts";
import { orphans, samePriorities } from "#controller/sources/read/declared.ts";
import { givenAdditional, givenOriginal, type Given } from "#controller/sources/read/input.ts";
import {
  foreignOf,
  isForeign,
  observe,
  ownedOf,
  type Snapshot,
} from "#controller/sources/read/snapshot.ts";
import { sooner, type Again } from "#kube/loop.ts";
import { readPublished } from "./objects/global-secret.ts";
import { readState, writeState } from "./objects/state.ts";
import type { Reconciler } from "./reconciler.ts";
import { keptDirectory } from "./rollout/kept-directory.ts";
import { againAfter, serve } from "./serve.ts";
import { accept, nobodyAsks } from "./sources/accept.ts";
import { keptOf, sincesOf, withdrawals, type Withdrawal } from "./withdrawal/grace.ts";
import { remove, takesAway } from "./withdrawal/remove.ts";

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

async function run(whole: Reconciler): Promise<Again | undefined> {
  const { cluster, live, original, extras, policy, report } = whole;
  const extrasOf = (fresh: boolean) => () => extras.read(policy.sources, fresh);
  let snapshot = await observe(cluster, original, extrasOf(false));
  if (isAbsent(snapshot, whole) && takesAway(snapshot))
    snapshot = await observe(live, original, extrasOf(true));
  const known = knownOf(snapshot);
  const given = givenOf(snapshot, whole);
  if (isAbsent(snapshot, whole) && ownedOf(snapshot).length === foreignOf(snapshot).length) {
    report.idle();
    if (given.some(({ core }) => !core))
      await report.verdict(accept({ given, ...known }, policy.merge), snapshot);
    return undefined;
  }
  const reconciler = await withRoot(inItsDirectory(whole, snapshot), snapshot);
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

/** With agents that stay in the kubelet directory where they have written. */
function inItsDirectory(reconciler: Reconciler, snapshot: Snapshot): Reconciler {
  const { agent, report } = reconciler;
  const kept = keptDirectory(snapshot, agent.kubeletDirectory);
  report.directory(kept, agent.kubeletDirectory);
  if (kept === undefined) return reconciler;
  return { ...reconciler, agent: { ...agent, kubeletDirectory: kept } };
}

/** With agents that look for hidden files where all nodes can mount their root directory safely. */
async function withRoot(reconciler: Reconciler, snapshot: Snapshot): Promise<Reconciler> {
  const { agent, cluster, pods, report, rootMounts, times } = reconciler;
  const lacking = await rootMounts.lacking(snapshot, {
    cluster,
    agent,
    pods: pods.view.items.values(),
    steady: times().steady,
  });
  if (lacking.length === 0) return reconciler;
  report.unsearched(lacking);
  return { ...reconciler, agent: { ...agent, hiddenFiles: "Skip" } };
}

/**
 * True under a pause, unless a withdrawal has begun. That goes to its end, so that no credential
 * stays half withdrawn. Where global-pull-secret is gone, the state tells: a withdrawal begins with
 * forgetting what was accepted.
 */
function holdsWithdrawals({ policy }: Reconciler, { global, state }: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  const { intent } = readPublished(global) ?? {};
  if (intent !== undefined) return intent !== "release";
  return Object.keys(readState(state).accepted).some((id) => id !== sourceIds.original);
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
 * Forgets withdrawn credentials, so that none is a source's last accepted document. Remembers the
 * grace periods, so that none begins again, and the policy, which the next leader follows where the
 * object cannot be read.
 */
async function forgotten(
  { cluster, steering }: Reconciler,
  snapshot: Snapshot,
  absences: ReadonlyMap<string, Withdrawal>,
): Promise<Snapshot> {
  const { global, state, daemonSet } = snapshot;
  if ((global === undefined && daemonSet === undefined) || isForeign(state)) return snapshot;
  const before = readState(state);
  const original = Object.entries(before.accepted).filter(([id]) => id === sourceIds.original);
  return {
    ...snapshot,
    state: await writeState(cluster, state, {
      ...before,
      accepted: Object.fromEntries(original),
      absentSince: sincesOf(absences),
      policy: steering.accepted?.spec,
      sourcesFrom: steering.accepted?.sourcesFrom,
    }),
  };
}

/** When the withdrawal begins; undefined for a source that exists, or is withdrawn already. */
const beginsOf = (absence: Withdrawal | undefined) =>
  absence?.due === false ? absence.begins : undefined;

/** When the first grace period is over. */
function until(absences: ReadonlyMap<string, Withdrawal>, { now }: Reconciler): Again | undefined {
  const ends = [...absences.values()].flatMap((one) => beginsOf(one)?.getTime() ?? []);
  if (ends.length === 0) return undefined;
  return { seconds: Math.max(0, (Math.min(...ends) - now().getTime()) / 1000) };
}
