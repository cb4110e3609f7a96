/** One step towards every node having what the sources say, unless a pause holds it. */
import type { Snapshot } from "./sources/snapshot.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import type { Again } from "#kube/loop.ts";
import { readPublished } from "./objects/global-secret.ts";
import { readState, writeState } from "./objects/state.ts";
import type { Reconciler } from "./assembly.ts";
import { takeStep, type Progress } from "./rollout/step.ts";
import type { SourcesVerdict } from "./sources/accept.ts";
import { sincesOf, type Withdrawal } from "./withdrawal/grace.ts";

/**
 * Seconds to the next run while objects are being deleted: there is nothing to wait for but the
 * API.
 */
const soon: Again = { seconds: 1 };

/** Remembers what is accepted, then brings it to the nodes; undefined: nothing more is due. */
export async function serve(
  reconciler: Reconciler,
  snapshot: Snapshot,
  verdict: SourcesVerdict,
  absences: ReadonlyMap<string, Withdrawal>,
): Promise<Again | undefined> {
  if (verdict.wanted === undefined && absences.size === 0) return undefined;
  if (isHeldByPause(reconciler, snapshot)) {
    reconciler.report.paused();
    return undefined;
  }
  // The state is written before the Secret: what is in force must be known even if its source
  // breaks in the next moment.
  const state = await writeState(reconciler.cluster, snapshot.state, {
    ...readState(snapshot.state),
    accepted: verdict.accepted,
    absentSince: sincesOf(absences),
    policy: reconciler.policyReading.accepted?.spec,
    sourcesFrom: reconciler.policyReading.accepted?.sourcesFrom,
  });
  if (verdict.wanted === undefined) return undefined;
  if (snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined) return soon;
  const progress = await takeStep(reconciler, { ...snapshot, state }, verdict.wanted);
  await reconciler.report.progress(progress, snapshot);
  return nextRunAfter(progress, reconciler.admitted);
}

/**
 * True under a pause before anything was in force, or after it was given back: then nothing is
 * made.
 */
function isHeldByPause({ policy }: Reconciler, { global, state }: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  const { intent } = readPublished(global) ?? {};
  return intent === "release" || (intent === undefined && readState(state).rollout === undefined);
}

/** When the next run is due after this step; undefined if only a change calls for one. */
export function nextRunAfter({ again }: Progress, { againSeconds }: Admitted): Again | undefined {
  const seconds = Math.min(again, againSeconds ?? Infinity);
  return seconds === Infinity ? undefined : { seconds };
}
