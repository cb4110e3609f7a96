/** One step that brings the sources' content to the nodes, unless a pause delays it. */
import type { Snapshot } from "./sources/snapshot.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import type { Again } from "#runtime/loop.ts";
import { readPublished } from "./objects/global-secret.ts";
import { readState, writeState } from "./objects/state.ts";
import type { Reconciler } from "./assembly.ts";
import { takeStep, type Progress } from "./rollout/step.ts";
import type { SourcesVerdict } from "./sources/accept.ts";
import { sincesOf, type Withdrawal } from "./withdrawal/grace.ts";

/** Seconds until the next run while objects are being deleted. */
const soon: Again = { seconds: 1 };

/**
 * Records the accepted documents, then brings the wanted content to the nodes. Undefined: nothing
 * more is due.
 */
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
  // The state is written before the Secret, so that the accepted documents are recorded even if a
  // source becomes invalid a moment later.
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

/** True during a pause if nothing is in force. Then nothing is created. */
function isHeldByPause({ policy }: Reconciler, { global, state }: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  return readPublished(global) === undefined && readState(state).rollout === undefined;
}

/** When the next run is due after this step. Undefined: only after a change. */
export function nextRunAfter({ again }: Progress, { againSeconds }: Admitted): Again | undefined {
  const seconds = Math.min(again, againSeconds ?? Infinity);
  return seconds === Infinity ? undefined : { seconds };
}
