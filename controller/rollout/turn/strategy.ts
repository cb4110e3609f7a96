/** How many agents the DaemonSet controller may replace at a time. */

/** How a template is brought to the nodes. */
export type Strategy = Readonly<{
  /** `canary` until the first node has proved the template. */
  stage: "canary" | "wave";
  /** A number of nodes or a percentage, as Kubernetes writes it. */
  maxUnavailable: number | string;
}>;

/**
 * Every node at once: for revisions that restart no kubelet, and clusters whose budget is every
 * node.
 */
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
 * How many nodes may newly fail before the revision halts. A percentage is rounded down: 1% of 20
 * nodes allows none.
 */
export function failuresAllowed(most: number | string, desired: number): number {
  return typeof most === "number" ? most : Math.floor((Number.parseInt(most, 10) * desired) / 100);
}

/**
 * The strategy plus one slot for each node that cannot be available. Without these slots such nodes
 * would use up the budget for good. There are never more slots than missing agents, because a
 * survey may be half a minute old.
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
 * The strategy of a wave while it is unknown which nodes are odd. One that has slots for them stays
 * until the next survey, half a minute away at most. Otherwise the budget applies, which may have
 * been edited meanwhile.
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
