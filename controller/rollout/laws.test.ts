/**
 * The laws of a rollout: At most `maxUnavailable` grants are unproved. No content restarts a
 * kubelet twice. Bad content breaks few nodes. No node gets unproved or withdrawn content
 * without a grant. Every change ends. The product's code decides, and the model simulates the
 * cluster. `laws.slow.test.ts` runs thousands of other schedules.
 */
import { test } from "node:test";
import { plansOnce } from "#test/model/once.ts";
import { playAll } from "#test/model/play.ts";

test("keeps every law, whatever happens to the cluster", () => {
  playAll(1, 55, { rewrite: {} });
});

test("keeps every law when the controller decides only after a change, or at the time that its last decision named", () => {
  playAll(3001, 15, { isLazy: true, rewrite: {} });
});

test("keeps every law on schedules that broke a law in an earlier version", () => {
  for (const plan of plansOnce) playAll(0, 1, { rewrite: {} }, () => plan);
});
