/** The release: a revision without our entries, which every node must confirm. */
import { withdrawn } from "#controller/sources/input.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { recordReleased } from "../objects/annotations.ts";
import { readState, writeState } from "../objects/state.ts";
import type { WaitReason } from "../rollout/facts.ts";
import { takeStep, type Progress } from "../rollout/step.ts";
import { accept, type Sources, type WantedContent } from "../sources/accept.ts";
import {
  overdue,
  nothingHappened,
  type Removal,
  type RemovalContext,
  pauseAfter,
} from "./withdrawal.ts";

/**
 * The content of the release if `accept` returns no content. It has no entries, so that no source's
 * entry stays in force.
 */
const noCredential: WantedContent = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "release",
  entries: 0,
  fromAdditional: 0,
};

export async function release(
  context: RemovalContext,
  snapshot: Snapshot,
  sources: Sources,
): Promise<Removal> {
  const { target = noCredential } = accept(
    { ...sources, inputs: withdrawn(sources.inputs) },
    context.policy.merge,
  );
  const progress = await takeStep(context, snapshot, target);
  const { revision, intent, leftBehind, view } = progress;
  const releasing = intent === "release";
  const common = { ...nothingHappened, step: "release", revision, progress, releasing } as const;
  if (leftBehind === undefined) {
    const all = view?.waiting ?? [];
    const absent = all.filter(({ reason }) => absences.has(reason)).map(({ node }) => node);
    const waiting = all.filter(({ reason }) => !absences.has(reason)).map(({ node }) => node);
    const unchanged = context.unchangedSeconds(`${revision} ${releasing} ${waiting.length}`);
    const isAbsence = releasing && absent.length > 0 && waiting.length === 0;
    return {
      ...common,
      ...(isAbsence
        ? { awaited: { names: absent, until: forgottenAt(context, progress) } }
        : { overdue: overdue(context, unchanged, waiting) }),
      again: { seconds: Math.min(progress.again, pauseAfter(unchanged)) },
    };
  }
  // The rollout is removed from the state before a note on global-pull-secret marks the release as
  // complete. The state is deleted last. If the state then still contained the rollout, the
  // controller would wait for the nodes again.
  const { stateSecret, global } = progress;
  if (stateSecret !== undefined)
    await writeState(context.cluster, stateSecret, {
      ...readState(stateSecret),
      rollout: undefined,
    });
  if (global !== undefined) await recordReleased(context.cluster, global, revision);
  return { ...common, released: true, leftBehind, again: { seconds: 1 } };
}

/** Only time, or the node's administrator, can end these waits. */
const absences: ReadonlySet<WaitReason> = new Set(["podless", "starting", "unreachable"]);

/** When the controller stops waiting for absent nodes, as ISO 8601. */
function forgottenAt({ policy }: RemovalContext, { publishedAt }: Progress): string {
  return new Date((publishedAt + policy.withdrawal.forgetAfterSeconds) * 1000).toISOString();
}
