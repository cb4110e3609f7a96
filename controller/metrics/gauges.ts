/**
 * States as values of gauges. Pure. One place decides what a gauge shows once its subject is gone:
 * an absent series raises no alert, a stale value does for ever. The table is in
 * docs/reference/metrics.md.
 */
import type { Fate } from "#controller/grants/decision.ts";
import type { Progress } from "../rollout/step.ts";
import { isPublishedOut } from "../status/summary.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Undefined: nothing to report, so the series is absent. */
export type Gauges = Readonly<{
  /** 0: there is none. */
  revision: number;
  rolledOut: 0 | 1 | undefined;
  nodes: Readonly<Record<"desired" | "updated" | "available", number>> | undefined;
  /** `kept`: the last values, until the agents' pods have been read. */
  fates: Readonly<Partial<Record<Fate, number>>> | "kept";
}>;

/** No revision, or no node to bring it to. */
export const nothing: Gauges = { revision: 0, rolledOut: undefined, nodes: undefined, fates: {} };

/** Gauges of a rollout. `withdrawing`: it takes entries from nodes. */
export function gaugesOf(progress: Progress, withdrawing: boolean): Gauges {
  const { revision, view, desired, available } = progress;
  const rolledOut = withdrawing ? undefined : isPublishedOut(progress) ? 1 : 0;
  const updated = view?.counts.current ?? 0;
  return {
    revision,
    rolledOut,
    nodes: view && { desired, updated, available },
    fates: view?.counts ?? "kept",
  };
}

/** Gauges while a removal deletes objects. */
export const deleting = (revision: number): Gauges => ({ ...nothing, revision });

export function show(
  metrics: ControllerMetrics,
  { revision, rolledOut, nodes, fates }: Gauges,
): void {
  metrics.revision.set(revision);
  if (rolledOut === undefined) metrics.rolledOut.remove();
  else metrics.rolledOut.set(rolledOut);
  for (const total of ["desired", "updated", "available"] as const) {
    if (nodes === undefined) metrics[total].remove();
    else metrics[total].set(nodes[total]);
  }
  if (fates === "kept") return;
  metrics.nodes.reset();
  for (const [state, count] of Object.entries(fates)) metrics.nodes.set({ state }, count);
}
