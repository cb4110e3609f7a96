/**
 * Computes the gauges, and removes the series of a subject that is gone, because a stale value
 * would raise an alert for ever. The table is in docs/reference/metrics.md.
 */
import type { NodeState } from "#controller/rollout/facts.ts";
import type { Progress } from "../rollout/step.ts";
import { isPublishedOut } from "./summary.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Undefined: nothing to report, so the series is absent. */
export type Gauges = Readonly<{
  /** 0: there is no revision. */
  revision: number;
  rolledOut: 0 | 1 | undefined;
  nodes: Readonly<Record<"desired" | "updated" | "available", number>> | undefined;
  /** `kept`: the last values stay until the agents' pods have been read. */
  nodeStates: Readonly<Partial<Record<NodeState, number>>> | "kept";
}>;

/** The gauges if there is no revision, or if no node should have the revision. */
export const nothing: Gauges = {
  revision: 0,
  rolledOut: undefined,
  nodes: undefined,
  nodeStates: {},
};

/** Gauges of a rollout. `withdrawing`: the rollout removes entries from nodes. */
export function gaugesOf(progress: Progress, withdrawing: boolean): Gauges {
  const { revision, view, desired, available } = progress;
  const rolledOut = withdrawing ? undefined : isPublishedOut(progress) ? 1 : 0;
  const updated = view?.counts.current ?? 0;
  return {
    revision,
    rolledOut,
    nodes: view && { desired, updated, available },
    nodeStates: view?.counts ?? "kept",
  };
}

/** Gauges while a removal deletes objects. */
export const deleting = (revision: number): Gauges => ({ ...nothing, revision });

export function setGauges(
  metrics: ControllerMetrics,
  { revision, rolledOut, nodes, nodeStates }: Gauges,
): void {
  metrics.revision.set(revision);
  if (rolledOut === undefined) metrics.rolledOut.remove();
  else metrics.rolledOut.set(rolledOut);
  for (const total of ["desired", "updated", "available"] as const) {
    if (nodes === undefined) metrics[total].remove();
    else metrics[total].set(nodes[total]);
  }
  if (nodeStates === "kept") return;
  metrics.nodes.reset();
  for (const [state, count] of Object.entries(nodeStates)) metrics.nodes.set({ state }, count);
}
