import assert from "node:assert/strict";
import { test } from "node:test";
import { assembled } from "./assembly.ts";
import { policyWith } from "./policy/policy.fixture.ts";

test("however the clock is set, what lasts is counted: a survey grows old, a standstill is seen", () => {
  let seconds = 100;
  let wall = Date.parse("2026-01-01T12:00:00Z");
  const open = { seconds: () => seconds, now: () => new Date(wall), backSeconds: () => Infinity };
  const { lookout, stillSeconds } = assembled(
    open as never,
    {} as never,
  )({
    policy: policyWith({}),
    wishes: {},
  } as never);
  const state = { template: 1, desired: 3, updated: 1, available: 0, ready: 0 } as never;
  lookout.seen(state, []);
  const told = () => [
    lookout.clocks(state).surveySeconds,
    lookout.clocks(state).stallSeconds,
    stillSeconds("x"),
  ];
  assert.deepEqual(told(), [0, 0, 0]);
  wall -= 3_600_000;
  seconds += 15;
  assert.deepEqual(told(), [15, 15, 15]);
  assert.equal(lookout.recent({ ...(state as object), available: 1 } as never, false), undefined);
});
