/**
 * The laws of a rollout across clusters, for random fleets with clusters that lie, stall, flap and
 * leave. fleet-world.ts lists them. fleet.long.test.ts plays thousands of other seeds. Each law can
 * fail: rules that break one of them break the law about it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { productFleet, type Rewrite } from "./fleet-product.ts";
import { BrokenLaw, fleetPlanOf, judgeDelay, type FleetPlan } from "./fleet-world.ts";

test("K9: keeps every law of a rollout across clusters, for 100 random fleets", () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const plan = fleetPlanOf(seed);
    assert.doesNotThrow(() => judgeDelay(plan, () => productFleet(plan)), `seed ${seed}`);
  }
});

const plan = (changes: Partial<FleetPlan>): FleetPlan => ({
  seed: 1,
  behaviours: Array.from({ length: 10 }, () => "honest"),
  canaries: new Set(),
  maxUnavailable: "50%",
  isBad: false,
  end: 3000,
  ...changes,
});

const flapping = plan({
  behaviours: ["blink", "blink", ...Array.from({ length: 8 }, () => "honest" as const)],
  maxUnavailable: 1,
});

/** Rules that break a law: what they do, the law, the rules, and a fleet in which it shows. */
const broken: readonly (readonly [what: string, law: string, Rewrite, FleetPlan])[] = [
  [
    "count a place from the last state instead of the first write",
    "delay",
    {
      former: (former) =>
        former?.state === "Progressing" ? { ...former, startedAt: former.since } : former,
    },
    flapping,
  ],
  [
    "never end a place",
    "delay",
    {
      judged: (judged) =>
        judged.rolloutState === "slow" ? { ...judged, rolloutState: "working" } : judged,
    },
    plan({
      behaviours: ["stall", ...Array.from({ length: 9 }, () => "honest" as const)],
      maxUnavailable: 1,
    }),
  ],
  ["change all clusters at once", "window", { pace: { maxUnavailable: "100%" } }, plan({})],
  ["ignore canaries", "canary", { isCanary: false }, plan({ canaries: new Set(["c005"]) })],
  [
    "do not count refusals",
    "halt",
    {
      judged: (judged) =>
        judged.rolloutState === "refused" ? { ...judged, rolloutState: "unreachable" } : judged,
    },
    plan({ isBad: true, end: 600 }),
  ],
  [
    "count a cluster as done that has not proved the content",
    "truth",
    {
      judged: (judged) => (judged.state === "Progressing" ? { ...judged, state: "Done" } : judged),
    },
    plan({}),
  ],
];
for (const [what, law, rewrite, brokenPlan] of broken)
  test(`the law of ${law} breaks for rules that ${what}`, () => {
    assert.throws(
      () => judgeDelay(brokenPlan, () => productFleet(brokenPlan, rewrite)),
      (error: BrokenLaw) => error.law === law,
    );
    judgeDelay(brokenPlan, () => productFleet(brokenPlan));
  });

/** Under default settings: the clusters, and the minutes until all honest ones have the content. */
const defaults: readonly (readonly [what: string, hostile: number, of: number, minutes: number])[] =
  [
    ["one stuck cluster of ten", 1, 10, 16],
    ["three stuck clusters of ten", 3, 10, 20],
    ["ten stuck clusters of a hundred, whose names sort first", 10, 100, 30],
  ];
for (const [what, hostile, of, minutes] of defaults)
  test(`K9: by default, ${what} delay the others by two minutes each at most, and nobody for ever`, () => {
    for (const kind of ["stall", "flap", "blink"] as const) {
      const behaviours = Array.from({ length: of }, (_, at) => (at < hostile ? kind : "honest"));
      const fleet = plan({ behaviours, maxUnavailable: "10%", end: minutes * 60 });
      judgeDelay(fleet, () => productFleet(fleet));
    }
  });
