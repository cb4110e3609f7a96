/** How many nodes the DaemonSet controller may take at a time. */

/** How a template is to be brought to the nodes. */
export type Strategy = Readonly<{
  /** `canary` until the first node has proved the template. */
  stage: "canary" | "wave";
  /** A number of nodes or a percentage, as Kubernetes writes it. */
  maxUnavailable: number | string;
}>;

/** For what restarts no kubelet, and for clusters whose budget is every node. */
export const everyNode: Strategy = { stage: "wave", maxUnavailable: "100%" };

/** The first step of a rollout: one node, unless the budget is every node. */
export function firstStrategy(budget: number | string): Strategy {
  return budget === "100%" ? everyNode : { stage: "canary", maxUnavailable: 1 };
}

/** The budget in nodes, rounded up and at least 1, as the DaemonSet controller does. */
export function budgetNodes(budget: number | string, desired: number): number {
  const nodes =
    typeof budget === "number" ? budget : Math.ceil((Number.parseInt(budget, 10) * desired) / 100);
  return Math.max(1, nodes);
}

/**
 * How many nodes may fail newly before the revision halts; a percentage is rounded down, so that 1%
 * of 20 allows none.
 */
export function failuresAllowed(most: number | string, desired: number): number {
  return typeof most === "number" ? most : Math.floor((Number.parseInt(most, 10) * desired) / 100);
}

/**
 * The strategy with the slots of nodes that cannot be available, which would eat the budget for
 * ever. Never more of them than agents are missing: the word of a survey may be half a minute old.
 */
export function raisedBy(strategy: Strategy, odd: number, counters: Counters): Strategy {
  const slots = Math.min(odd, Math.max(0, counters.desired - counters.available));
  if (slots === 0 || strategy.maxUnavailable === "100%") return strategy;
  return {
    ...strategy,
    maxUnavailable: budgetNodes(strategy.maxUnavailable, counters.desired) + slots,
  };
}

/**
 * The strategy of a wave while nobody knows which nodes are odd: one with slots for them stays
 * until a survey, in half a minute at most; else the budget, which may have been edited meanwhile.
 */
export function unsurveyed(kept: Strategy, wave: Strategy, { desired }: Counters): Strategy {
  const { maxUnavailable } = kept;
  const mayHaveSlots =
    typeof maxUnavailable === "number" &&
    maxUnavailable > budgetNodes(wave.maxUnavailable, desired);
  return mayHaveSlots ? kept : wave;
}

/** How many slots the strategy in force has for nodes that cannot be available. */
export function slotsOf(
  inForce: Strategy & Counters,
  { maxUnavailable: budget }: { maxUnavailable: number | string },
): number {
  const { stage, maxUnavailable, desired } = inForce;
  if (typeof maxUnavailable !== "number") return 0;
  return Math.max(0, maxUnavailable - (stage === "canary" ? 1 : budgetNodes(budget, desired)));
}

type Counters = Readonly<{ desired: number; available: number }>;
