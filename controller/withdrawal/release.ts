/** The revision by which every node gives back our entries, until the last one has. */
import { withdrawn } from "#controller/sources/read/input.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { recall, remember } from "../objects/annotations.ts";
import { readState, writeState } from "../objects/state.ts";
import { takeStep, type Progress } from "../rollout/step.ts";
import { accept, type Sources, type WantedContent } from "../sources/accept.ts";
import { overdue, uneventful, type Removal, type Remover } from "./removal.ts";
import { pauseAfter } from "./withdrawal.ts";

/** The content where the original cannot be had: not even that may be left in force. */
const noCredential: WantedContent = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "release",
  entries: 0,
  fromAdditional: 0,
};

/** One step towards every node having given back. */
export async function release(
  remover: Remover,
  snapshot: Snapshot,
  sources: Sources,
): Promise<Removal> {
  const { wanted = noCredential } = accept(
    { ...sources, given: withdrawn(sources.given) },
    remover.policy.merge,
  );
  const progress = await takeStep(remover, snapshot, wanted);
  const { revision, intent, completed, view } = progress;
  const releasing = intent === "release";
  const common = { ...uneventful, step: "release", revision, progress, releasing } as const;
  const waiting = waitingFor(progress);
  const away = view?.excused.map(({ node }) => node) ?? [];
  if (completed === undefined) {
    const still = remover.stillSeconds(`${revision} ${releasing} ${waiting.length}`);
    const awaited = releasing && away.length > 0 && waiting.length === 0;
    return {
      ...common,
      ...(awaited
        ? { awaited: { names: away, until: forgottenAt(remover, progress) } }
        : { overdue: overdue(remover, still, waiting) }),
      again: { seconds: Math.min(progress.again, pauseAfter(still)) },
    };
  }
  // Before the note, which tells that it is done: the state is the last to go, and alone it would
  // tell that nodes are still to be asked.
  const { stateSecret, global } = progress;
  if (stateSecret !== undefined)
    await writeState(remover.cluster, stateSecret, {
      ...readState(stateSecret),
      rollout: undefined,
      servedBefore: 0,
      directory: undefined,
    });
  if (global !== undefined)
    await remember(remover.cluster, global, { ...recall(global), released: revision });
  const leftBehind = completed.isConfirmed ? [] : [...waiting, ...away];
  return { ...common, released: true, leftBehind, again: { seconds: 1 } };
}

/** Nodes with an agent that have not given back, and are not excused. */
function waitingFor({ pods, revision, view }: Progress): readonly string[] {
  const excused = new Set(view?.excused.map(({ node }) => node));
  return pods
    .filter(
      ({ word, node, isDeleting }) =>
        !isDeleting &&
        !excused.has(node) &&
        !(word?.kind === "proved" && word.revision === revision),
    )
    .map(({ node }) => node);
}

/** When nodes that are away are waited for no longer, ISO 8601. */
function forgottenAt({ policy }: Remover, { publishedAt }: Progress): string {
  return new Date((publishedAt + policy.withdrawal.forgetAfterSeconds) * 1000).toISOString();
}
