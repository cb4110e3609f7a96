/**
 * Which nodes have given back our entries during a removal. Nodes that are away are asked when they
 * return.
 */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { templateDigest } from "#controller/objects/daemonset/daemonset.ts";
import type { RolloutContext } from "../rollout/context.ts";
import type { Progress } from "../rollout/step.ts";
import { givenBack, type GivenBack } from "./withdrawal.ts";
import { ensure } from "#kube/apply/ensure.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { owned } from "#kube/client/paths.ts";
import { amongPinned, type Pinned } from "#controller/objects/daemonset/pinned-nodes.ts";
import type { Policy } from "../policy/policy.ts";
import { readState, writeState } from "../objects/state.ts";
import { survey } from "../rollout/survey.ts";
import { declaredAsIs } from "#controller/objects/daemonset/daemonset-state.ts";

/** `withdrawal`: how long to wait for nodes that are away. */
export type GivebackPatience = Readonly<{ policy: Pick<Policy, "withdrawal"> }>;

/**
 * `until`: when we stop waiting for them, ISO 8601. `seconds`: when to look again even if nothing
 * has happened.
 */
export type Awaited = Readonly<{ names: readonly string[]; until: string; seconds: number }>;

/**
 * Which nodes have given back, among those that the DaemonSet calls served. Reads nodes and pods
 * unless this run has done so already.
 */
export async function askedOf(
  { cluster, agent, now }: RolloutContext,
  progress: Progress,
): Promise<GivenBack> {
  const { fates, revision } = progress;
  if (fates.length > 0) return givenBack(fates.map(([node]) => node));
  const mark = { revision, digest: templateDigest(agent), complete: true };
  return givenBack(amongPinned(await survey(cluster, agent, mark, now().getTime()), agent.pinned));
}

/**
 * Keeps the DaemonSet for the nodes that are away, and for no others. Undefined when none is away,
 * or when the wait for them is over.
 */
export async function awaitReturn(
  context: RolloutContext & GivebackPatience,
  snapshot: Snapshot,
  names: readonly string[],
): Promise<Awaited | undefined> {
  const { pinned } = context.agent;
  const time = context.now().getTime();
  const said = Date.parse(pinned?.since ?? "");
  // A time that is still to come, or none, was not written by us, or by a clock ahead of ours.
  const since = new Date(said <= time ? said : time).toISOString();
  const until = Date.parse(since) + context.policy.withdrawal.forgetAfterSeconds * 1000;
  if (names.length === 0 || time >= until) return undefined;
  if (JSON.stringify({ names, since }) !== JSON.stringify(pinned))
    await pin(context, snapshot, { names, since });
  // Nodes that return or are deleted change the DaemonSet's counters, which is a hint.
  const seconds = Math.max(1, Math.min(300, (until - time) / 1000));
  return { names, until: new Date(until).toISOString(), seconds };
}

async function pin(context: RolloutContext, snapshot: Snapshot, pinned: Pinned): Promise<void> {
  const { cluster, agent } = context;
  // A withdrawal that somebody asked for clears what we remember of the credential as well.
  await writeState(cluster, snapshot.state, {
    ...readState(snapshot.state),
    accepted: {},
    served: undefined,
  });
  const live = await cluster.get<V1DaemonSet>(owned.daemonSet);
  if (live === undefined) return;
  await ensure<V1DaemonSet>(
    context,
    owned.daemonSet,
    live,
    declaredAsIs(live, { ...agent, pinned }),
  );
}
