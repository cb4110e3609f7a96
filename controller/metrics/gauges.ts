/**
 * States as values of gauges. Pure. One place decides what a gauge shows once its subject is gone:
 * an absent series raises no alert, a stale value does for ever. The table is in docs/metrics.md.
 */
import type { Progress } from "../rollout/step.ts";
import type { ControllerMetrics } from "./metrics.ts";
import type { FateCounts } from "#controller/rollout/turn/node-state.ts";

/** Undefined: nothing to report, so the series is absent. */
export type Gauges = Readonly<{
  /** 0: there is none. */
  revision: number;
  rolledOut: 0 | 1 | undefined;
  nodes: Readonly<Record<"desired" | "updated" | "available", number>> | undefined;
  /** `kept`: the last values, while something is under way and no survey has been made since. */
  fates: Readonly<Partial<FateCounts>> | "kept";
}>;

/** No revision, or no node to bring it to. */
export const nothing: Gauges = { revision: 0, rolledOut: undefined, nodes: undefined, fates: {} };

/** Gauges of a rollout. `withdrawing`: it takes entries from nodes. */
export function gaugesOf(
  { revision, turn, daemonSetState, counts }: Progress,
  withdrawing: boolean,
): Gauges {
  const { desired = 0, updated = 0, available = 0 } = daemonSetState ?? {};
  const served = turn.kind === "served";
  const rolledOut = withdrawing ? undefined : served ? 1 : 0;
  const fates = counts ?? (served ? { served: desired } : "kept");
  return { revision, rolledOut, nodes: { desired, updated, available }, fates };
}

/** Gauges while a removal deletes objects. */
export const deleting = (revision: number): Gauges => ({ ...nothing, revision });

/** Counts that are contained in the others already. */
const totals: ReadonlySet<string> = new Set(["total", "out", "fallen"]);

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
  for (const [state, count] of Object.entries(fates))
    if (!totals.has(state)) metrics.nodes.set({ state }, count);
}
