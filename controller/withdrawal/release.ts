/** The revision by which every node gives back our entries, until the last one has. */
import { pick } from "#controller/rollout/turn/node-state.ts";
import { withdrawn } from "#controller/sources/read/input.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { pinnedOf } from "#controller/objects/daemonset/pinned-nodes.ts";
import { recall, remember } from "../objects/annotations.ts";
import { isPending, readPublished } from "../objects/global-secret.ts";
import { readState, writeState } from "../objects/state.ts";
import { takeStep } from "../rollout/step.ts";
import { accept, type Sources, type WantedContent } from "../sources/accept.ts";
import { askedOf, awaitReturn } from "./giveback.ts";
import { overdue, uneventful, type Removal, type Remover } from "./removal.ts";
import { pauseAfter } from "./withdrawal.ts";

/**
 * The content for nodes that were away. After a withdrawal that was asked for, not even
 * global-pull-secret may hold the credential.
 */
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
  const pinned = pinnedOf(snapshot.daemonSet);
  const { wanted = noCredential } = accept(
    { ...sources, given: withdrawn(sources.given) },
    remover.policy.merge,
  );
  const due = pinned === undefined ? wanted : noCredential;
  // The other nodes are awaited one by one as they return, so there is no outage and no wave.
  const context =
    pinned === undefined
      ? remover
      : {
          ...remover,
          policy: {
            ...remover.policy,
            rollout: { ...remover.policy.rollout, maxUnavailable: "100%" },
          },
          agent: { ...remover.agent, pinned },
        };
  const progress = await takeStep(context, snapshot, due);
  const { revision, turn, daemonSetState, fates } = progress;
  const releasing = !isPending(readPublished(progress.global), due, { revision: 0, digest: "" });
  const common = { ...uneventful, step: "release", revision, progress, releasing } as const;
  const counters = [
    revision,
    daemonSetState?.template,
    daemonSetState?.desired,
    daemonSetState?.updated,
    daemonSetState?.available,
  ].join("/");
  if (turn.kind !== "served" || !releasing || daemonSetState?.template !== revision) {
    const waiting = pick(fates, "failed", "stuck", "moving", "waiting").map(({ name }) => name);
    return {
      ...common,
      overdue: overdue(remover, remover.stillSeconds(counters), waiting),
      again: undefined,
    };
  }
  const { lacking, away } = await askedOf(context, progress);
  const still = remover.stillSeconds(`${counters} ${lacking.length}`);
  if (lacking.length > 0)
    return {
      ...common,
      overdue: overdue(remover, still, lacking),
      again: { seconds: pauseAfter(still) },
    };
  const awaited = await awaitReturn(context, snapshot, away);
  if (awaited !== undefined) return { ...common, awaited, again: { seconds: awaited.seconds } };
  // Before the note, which says that it is done: the state is the last to go, and alone it would
  // say that nodes are still to be asked.
  const { stateSecret } = progress;
  if (stateSecret !== undefined)
    await writeState(remover.cluster, stateSecret, {
      ...readState(stateSecret),
      served: undefined,
      halted: undefined,
    });
  await remember(remover.cluster, progress.global, {
    ...recall(progress.global),
    released: revision,
  });
  return { ...common, released: true, leftBehind: away, again: { seconds: 1 } };
}
