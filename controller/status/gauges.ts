/**
 * Computes the gauges, and removes the series of a subject that is gone, because a stale value
 * would raise an alert for ever. The table is in docs/reference/metrics.md.
 */
import type { WaitWord } from "#api/reasons.ts";
import type { View, WaitReason } from "#controller/rollout/facts.ts";
import type { Progress } from "../rollout/step.ts";
import { waitCounts, waitWords } from "./nodes.ts";
import { isPublishedOut, type Stage } from "./summary.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** `Updated`, or why the node does not have the revision, as in status. */
export type NodeState = "Updated" | WaitWord;

/** Undefined: nothing to report, so the series is absent. */
export type Gauges = Readonly<{
  /** 0: there is no revision. */
  revision: number;
  rolledOut: 0 | 1 | undefined;
  /** `kept`: the last values stay until the nodes have been read. */
  nodeStates: Readonly<Partial<Record<NodeState, number>>> | "kept";
}>;

/** If there is no revision, or no node should have the revision. */
const nothing: Gauges = { revision: 0, rolledOut: undefined, nodeStates: {} };

/** The gauges at this stage of a run. Undefined: they stay the same. */
export function gaugesOf(stage: Stage | undefined): Gauges | undefined {
  if (stage?.kind === "nothing") return nothing;
  if (stage?.kind === "rollout")
    return {
      ...nodesOf(stage.progress),
      rolledOut: isPublishedOut(stage.progress) ? 1 : 0,
    };
  if (stage?.kind !== "removal") return undefined;
  const { step, revision, progress } = stage.removal;
  if (step === "delete global" || step === "delete state") return nothing;
  return progress === undefined ? { ...nothing, revision } : nodesOf(progress);
}

function nodesOf({ revision, view }: Progress): Gauges {
  const isKnown = view !== undefined && view.phase !== "idle";
  return { revision, rolledOut: undefined, nodeStates: isKnown ? statesOf(view) : "kept" };
}

/** Every state has a series, so that an alert sees when its number is 0 again. */
function statesOf(view: View): Gauges["nodeStates"] {
  const counts = waitCounts(view);
  const waiting = Object.entries(waitWords).map(
    ([reason, word]) => [word, counts.get(reason as WaitReason) ?? 0] as const,
  );
  return { Updated: view.current, ...Object.fromEntries(waiting) };
}

export function setGauges(
  metrics: ControllerMetrics,
  { revision, rolledOut, nodeStates }: Gauges,
): void {
  metrics.revision.set(revision);
  if (rolledOut === undefined) metrics.rolledOut.remove();
  else metrics.rolledOut.set(rolledOut);
  if (nodeStates === "kept") return;
  metrics.nodes.reset();
  for (const [state, count] of Object.entries(nodeStates)) metrics.nodes.set({ state }, count);
}
