/**
 * The laws of a rollout, for random events in a simulated cluster. truth.ts lists them. The seeds
 * are fixed; laws.long.test.ts plays thousands of others.
 */
import { test } from "node:test";
import { playAll } from "./run.ts";

test("keeps every law, whatever happens to the cluster", () => {
  playAll(1, 200, 20);
});

test("keeps every law in clusters of up to 60 nodes", () => {
  playAll(10_001, 40, 60);
});
