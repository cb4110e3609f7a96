/** The progress when revision 7 is on all three nodes, with these changes. */
import { type ListedNode, type View, stateOf } from "./facts.ts";
import { idleView } from "./survey.ts";
import type { Progress } from "./step.ts";

type Changes = Partial<Omit<Progress, "view">> & Readonly<{ view?: Partial<View> }>;

export function progressWith({ view, ...changes }: Changes = {}): Progress {
  return {
    view: {
      ...idleView,
      phase: "served",
      counts: { ...idleView.counts, current: 3 },
      ...view,
    },
    revision: 7,
    served: 7,
    intent: "apply",
    publishedAt: 0,
    now: 12,
    ended: false,
    completed: undefined,
    state: stateOf(7, { retry: "", replaced: [] }),
    desired: 3,
    isCounted: true,
    available: 3,
    pods: [],
    failure: undefined,
    again: Number.POSITIVE_INFINITY,
    global: {},
    stateSecret: undefined,
    ...changes,
  };
}

/** Revision 7 is being rolled out. Only nodes with a grant have it. */
export const rollingOut = (phase: View["phase"], view: Partial<View> = {}): Changes => ({
  served: 6,
  view: { phase, counts: { ...idleView.counts, changing: 1, waiting: 2 }, ...view },
});

export const listed = (
  node: string,
  reason: ListedNode["reason"],
  waitingReason?: string,
): ListedNode => ({
  node,
  reason,
  waitingReason,
});
