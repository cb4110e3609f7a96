/** The laws of a rollout across clusters, for thousands of random fleets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { productFleet } from "./fleet-product.ts";
import { fleetPlanOf, judgeDelay } from "./fleet-world.ts";

/** How many fleets are played. */
const fleets = 5000;

test("K9: keeps every law of a rollout across clusters, for 5,000 random fleets", (t) => {
  const first = Number(process.env["SEED"] ?? Date.now() % 1_000_000_000);
  t.diagnostic(`SEED=${first}`);
  for (let seed = first; seed < first + fleets; seed += 1) {
    const plan = fleetPlanOf(seed);
    assert.doesNotThrow(() => judgeDelay(plan, () => productFleet(plan)), `seed ${seed}`);
  }
});
