/**
 * The laws of a rollout, with the product's decisions in charge of the model's world: at most
 * `maxUnavailable` unproved grants, no second restart for one content, few nodes that breaking
 * content reaches, no unproved or withdrawn content without a grant, and an end of everything.
 * `laws.slow.test.ts` plays thousands of other schedules.
 */
import { test } from "node:test";
import { playAll } from "#test/model/play.ts";

/** Seeds whose schedules once broke a law, of the product or of the model. */
const once = [455103, 930248, 1031113, 3001154];

test("keeps every law, and decides as the model does, whatever happens to the cluster", () => {
  playAll(1, 25, { isLockstep: true, rewrite: {} });
});

test("keeps every law when Nodes are read only where a decision asks for them", () => {
  playAll(1001, 30, { isLockstep: false, rewrite: {} });
});

test("keeps every law on schedules that once broke one", () => {
  for (const seed of once) playAll(seed, 1, { isLockstep: true, rewrite: {} });
});

test("breaks no law when the model itself is in charge", () => {
  playAll(2001, 10, null);
});
