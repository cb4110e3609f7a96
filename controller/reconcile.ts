/**
 * The whole controller on one screen: observe, judge the sources, take one step, report. Every run
 * starts from the existing objects. A run can be interrupted anywhere, and the next runs reach the
 * same result.
 */
import { sourceIds } from "#contract/names.ts";
import { platformPause } from "./platform.ts";
import {
  orphans,
  samePriorities,
  additionalInput,
  originalInput,
  type AdditionalInput,
  type ExtraInput,
  type SourceInput,
  type Withdrawal,
} from "./sources/input.ts";
import { isEmptied, partsOf } from "#pullsecret/document/secret.ts";
import { expiredIn } from "./sources/verdict.ts";
import { foreignOf, isForeign, observe, ownedOf, type Snapshot } from "./sources/snapshot.ts";
import { sooner, type Again } from "#runtime/loop.ts";
import { isEdited, readPublished } from "./objects/global-secret.ts";
import { readState, writeState } from "./objects/state.ts";
import type { Reconciler } from "./assembly.ts";
import { takeStep, type Progress } from "./rollout/step.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import { podlessSeconds } from "./status/memory.ts";
import type { Outcome } from "./status/outcome.ts";
import { accept, noSourceApplies, type SourcesVerdict, type Withheld } from "./sources/accept.ts";
import { verified, withheldOf } from "./sources/verification.ts";
import { keptOf, sincesOf, withdrawals } from "./withdrawal/grace.ts";
import { remove, deletesNext, leftBehindIn } from "./withdrawal/remove.ts";

export async function reconcile(reconciler: Reconciler): Promise<Again | undefined> {
  const outcome: Outcome = { policy: reconciler.policyReading };
  try {
    return await run(reconciler, outcome);
  } catch (error) {
    outcome.error = error;
    throw error;
  } finally {
    // Report after all changes, because Events before a change would delay all nodes.
    reconciler.publish(outcome);
  }
}

async function run(reconciler: Reconciler, outcome: Outcome): Promise<Again | undefined> {
  const { cluster, live, original, extras, policy } = reconciler;
  const extrasOf = (fresh: boolean) => () => extras.read(policy.sources, fresh);
  let snapshot = await observe(cluster, original, extrasOf(false));
  const asking = { verification: policy.verification, verifier: reconciler.verifier };
  const inputsNow = { inputs: inputsOf(snapshot, reconciler), ...knownOf(snapshot) };
  const withheld = withheldOf(inputsNow, policy.merge, asking);
  if (
    (isAbsent(snapshot, reconciler, withheld) || continuesWithdrawal(reconciler, snapshot)) &&
    deletesNext(snapshot)
  )
    snapshot = await observe(live, original, extrasOf(true));
  outcome.snapshot = snapshot;
  const remembered = { ...knownOf(snapshot), withheld };
  const inputs = inputsOf(snapshot, reconciler);
  if (
    isAbsent(snapshot, reconciler, withheld) &&
    ownedOf(snapshot).length === foreignOf(snapshot).length
  ) {
    // Before the objects were listed, nodes that were left behind would look as if they were clean.
    if (!reconciler.objects.view.listed) {
      outcome.stage = { kind: "starting" };
      return soon;
    }
    outcome.stage = { kind: "nothing", leftBehind: leftBehindIn(reconciler) };
    if (inputs.some(({ core }) => !core))
      outcome.verdict = accept({ inputs, ...remembered }, policy.merge);
    return undefined;
  }
  const absences = withdrawals(inputs, snapshot, reconciler);
  const held = holdsWithdrawals(reconciler, snapshot);
  const sources = { inputs: keptOf(inputs, absences, held), ...remembered };
  const isRemoval = noSourceApplies(sources) || continuesWithdrawal(reconciler, snapshot);

  if (isRemoval) {
    snapshot = await forgetCredentials(reconciler, snapshot, absences);
    outcome.snapshot = snapshot;
    const removal = await remove(reconciler, snapshot, sources);
    outcome.stage = { kind: "removal", removal };
    return (
      removal.again ?? (removal.progress && nextRunAfter(removal.progress, reconciler.admitted))
    );
  }

  const later = held ? undefined : nextGraceEnd(absences, reconciler);
  const platform = await reconciler.platform();
  outcome.platform = platform ?? "";
  if (platform !== undefined) {
    outcome.stage = { kind: "blocked" };
    return sooner(platformPause, later);
  }
  outcome.foreign = foreignOf(snapshot);
  if (outcome.foreign.length > 0) {
    outcome.stage = { kind: "blocked" };
    return later;
  }
  const absence = absences.get(sourceIds.additional);
  const judged = verified(accept(sources, policy.merge), withheld, asking);
  const verdict = {
    ...judged,
    warnings: [
      ...orphans(reconciler.policyReading.orphans),
      ...samePriorities(policy.sources),
      ...expiredIn(judged.registries, reconciler.now()),
      ...judged.warnings,
    ],
    // A withdrawal that a pause delays has not begun, even if it was due long ago.
    withdraws: absence === undefined || (absence.due && !held) ? undefined : absence,
  };
  outcome.verdict = verdict;
  return sooner(await serve(reconciler, { outcome, snapshot, verdict, absences }), later);
}

type Judged = Readonly<{
  outcome: Outcome;
  snapshot: Snapshot;
  verdict: SourcesVerdict;
  absences: ReadonlyMap<string, Withdrawal>;
}>;

/**
 * Records the accepted documents, then brings the wanted content to the nodes, unless a pause
 * delays it. Undefined: nothing more is due.
 */
async function serve(
  reconciler: Reconciler,
  { outcome, snapshot, verdict, absences }: Judged,
): Promise<Again | undefined> {
  const { cluster, policyReading, admitted } = reconciler;
  const { target, accepted } = verdict;
  if (target === undefined && absences.size === 0) return undefined;
  if (isHeldByPause(reconciler, snapshot)) {
    outcome.stage = { kind: "blocked" };
    return undefined;
  }
  // The state is written before the Secret, so that the accepted documents are recorded even if a
  // source becomes invalid a moment later.
  const state = await writeState(cluster, snapshot.state, {
    ...readState(snapshot.state),
    accepted,
    absentSince: sincesOf(absences),
    policy: policyReading.accepted?.spec,
    sourcesFrom: policyReading.accepted?.sourcesFrom,
  });
  if (target === undefined) return undefined;
  if (snapshot.daemonSet?.metadata?.deletionTimestamp !== undefined) {
    outcome.stage = { kind: "blocked", by: "DaemonSet" };
    return soon;
  }
  const progress = await takeStep(reconciler, { ...snapshot, state }, target);
  outcome.stage = { kind: "rollout", progress };
  return nextRunAfter(progress, admitted);
}

/** Seconds until the next run while objects are being deleted. */
const soon: Again = { seconds: 1 };

/** True during a pause if nothing is in force. Then nothing is created. */
function isHeldByPause({ policy }: Reconciler, { global, state }: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  return readPublished(global) === undefined && readState(state).rollout === undefined;
}

/** When the next run is due after this step. Undefined: only after a change. */
function nextRunAfter({ again, view }: Progress, { againSeconds }: Admitted): Again | undefined {
  const isPodless = view?.waiting.some(({ reason }) => reason === "podless") === true;
  const seconds = Math.min(again, againSeconds ?? Infinity, isPodless ? podlessSeconds : Infinity);
  return seconds === Infinity ? undefined : { seconds };
}

/**
 * True during a pause, if no withdrawal has begun. A withdrawal that has begun continues, so that
 * no credential stays half withdrawn. If global-pull-secret is gone, the state shows whether a
 * withdrawal has begun, because a withdrawal first deletes the accepted documents from the state.
 */
function holdsWithdrawals({ policy }: Reconciler, snapshot: Snapshot): boolean {
  if (policy.managementState !== "Paused") return false;
  const { intent } = readPublished(snapshot.global) ?? {};
  return intent === undefined ? hasAccepted(snapshot) : intent !== "release";
}

function hasAccepted({ state }: Snapshot): boolean {
  return Object.keys(readState(state).accepted).some((id) => id !== sourceIds.original);
}

/**
 * True if a withdrawal was under way when the pause began. The controller completes this withdrawal
 * first, even if a source exists again. If someone edits global-pull-secret during the pause, this
 * does not begin a withdrawal. If global-pull-secret is gone, the state shows whether a withdrawal
 * was under way.
 */
function continuesWithdrawal({ policy }: Reconciler, snapshot: Snapshot): boolean {
  const { global, state, daemonSet } = snapshot;
  if (policy.managementState !== "Paused" || isForeign(global) || isEdited(global)) return false;
  if (global !== undefined) return readPublished(global)?.intent === "release";
  if (state === undefined || hasAccepted(snapshot)) return false;
  return daemonSet !== undefined || readState(state).rollout !== undefined;
}

type InputContext = Pick<Reconciler, "original" | "policy">;

/**
 * The sources as they were read, highest priority first. With `Withdrawn`, only the original
 * counts, even if the user's Secrets exist.
 */
function inputsOf(snapshot: Snapshot, { original, policy }: InputContext): readonly SourceInput[] {
  const last = original && originalInput(original.name, snapshot.original);
  if (policy.managementState === "Withdrawn") return last ? [last] : [];
  const { additional } = snapshot;
  // A Secret that only waits for a finalizer counts as absent, because its owner has deleted it.
  const secret = additional?.metadata?.deletionTimestamp === undefined ? additional : undefined;
  const inputs = [additionalInput(secret ?? "absent"), ...snapshot.extras];
  return [...inputs.map(withoutEmptied), ...(last ? [last] : [])];
}

/** A Secret without entries counts as deleted. A tool that emptied it might restore it soon. */
function withoutEmptied<I extends AdditionalInput | ExtraInput>(input: I): I {
  const isEmpty = typeof input.lookup === "object" && isEmptied(partsOf(input.lookup));
  return isEmpty ? { ...input, lookup: "absent" } : input;
}

const knownOf = ({ global, state }: Snapshot) => ({
  published: readPublished(global),
  state: readState(state),
});

/**
 * True when no source supplies anything now. A deleted Secret counts as absent here, even within
 * its grace period.
 */
function isAbsent(snapshot: Snapshot, applying: InputContext, withheld: Withheld): boolean {
  return noSourceApplies({ inputs: inputsOf(snapshot, applying), ...knownOf(snapshot), withheld });
}

/**
 * Deletes withdrawn credentials from the state, so that no last accepted document contains them.
 * Records when the grace periods began, so that they do not begin again. Records the
 * policy, because the next leader follows this policy if it cannot read the object.
 */
async function forgetCredentials(
  { cluster, policyReading }: Reconciler,
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
      policy: policyReading.accepted?.spec,
      sourcesFrom: policyReading.accepted?.sourcesFrom,
    }),
  };
}

function nextGraceEnd(
  absences: ReadonlyMap<string, Withdrawal>,
  { now }: Reconciler,
): Again | undefined {
  const ends = [...absences.values()].flatMap(({ due, begins }) =>
    due || begins === undefined ? [] : [begins.getTime()],
  );
  if (ends.length === 0) return undefined;
  return { seconds: Math.max(0, (Math.min(...ends) - now().getTime()) / 1000) };
}
