/** Plans of what happens to a cluster. A plan and its seed determine the whole run. */
import { Random } from "#test/random.ts";
import { eventKinds, type Event } from "./events.ts";
import type { Cloud, Mode, Policy } from "./world.ts";

export type Plan = Readonly<{
  seed: number;
  nodes: number;
  policy: Readonly<Policy>;
  mode: Mode;
  cloud: Cloud;
  /** The share of machines that leave in an hour, each replaced by another. */
  churn: number;
  events: readonly Event[];
  /** When the calm phase begins. */
  end: number;
}>;

export const defaultPolicy: Policy = {
  maxUnavailable: 4,
  maxFailures: 0,
  forgetAfter: 1800,
  minInterval: 0,
  probation: 5,
};

/** A random plan. */
export function planOf(seed: number, most = 60): Plan {
  const random = new Random(seed);
  const sizes = [1, 1, 2, 3, 4, 5, 6, 8, 12, 20, 40, 60].filter((size) => size <= most);
  const nodes = random.pick(sizes);
  const start = random.pick([3, 8, 150]);
  const end = start + random.pick([60, 200, 600]);
  const share = random.pick([0.1, 0.2, 0.5]);
  const kinds = eventKinds.filter(() => random.fraction() < share);
  const event = (): Event => ({
    t: start + random.below(end - start),
    kind: random.pick(kinds.length > 0 ? kinds : eventKinds),
    who: random.below(1000),
    n: random.below(1000),
  });
  const events = random.list(random.pick([6, 14, 30, 60]), event);
  const maxUnavailable = random.pick([1, 1, 2, 3, Math.ceil(nodes / 10), "all" as const]);
  const maxFailures = random.pick([0, 0, 0, 1, 2]);
  const minInterval = random.pick([0, 0, 0, 60]);
  return {
    seed,
    nodes,
    policy: { ...defaultPolicy, maxUnavailable, maxFailures, minInterval },
    mode: random.pick(["Restart", "Restart", "Restart", "Reread"]),
    churn: random.pick([0, 0, 0, 0.05, 0.5, 2]),
    cloud: random.pick(["fast", "late", "never"]),
    events: events.toSorted((first, second) => first.t - second.t),
    end,
  };
}

const withEvents = (plan: Plan, events: readonly Event[]): Plan => ({ ...plan, events });
const withNodes = (plan: Plan, nodes: number): Plan => ({ ...plan, nodes });

/** Smaller plans, one of which may break the same law. */
export function smallerPlans(plan: Plan): Plan[] {
  const { events, nodes } = plan;
  const halves = [events.slice(events.length / 2), events.slice(0, events.length / 2)];
  const shorter = events.map((_, index) => events.toSpliced(index, 1));
  const fewer = [1, Math.ceil(nodes / 2), nodes - 1].filter((count) => count > 0 && count < nodes);
  return [
    ...[...(events.length > 2 ? halves : []), ...shorter].map((rest) => withEvents(plan, rest)),
    ...(plan.churn > 0 ? [{ ...plan, churn: 0 }] : []),
    ...fewer.map((count) => withNodes(plan, count)),
  ];
}
