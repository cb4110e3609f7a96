import assert from "node:assert/strict";
import { test } from "node:test";
import { assembleReconciler } from "./assembly.ts";
import { policyWith } from "./policy/policy.fixture.ts";

test("measures durations across runs with a clock that never jumps", () => {
  let seconds = 100;
  let wall = Date.parse("2026-01-01T12:00:00Z");
  const open = { seconds: () => seconds, now: () => new Date(wall) };
  const reconcilers = assembleReconciler(open as never);
  const run = () => reconcilers({ policy: policyWith({}) } as never, {} as never);
  const first = run();
  assert.equal(first.unchangedSeconds("x"), 0);
  wall -= 3_600_000;
  seconds += 15;
  assert.equal(run().unchangedSeconds("x"), 15);
  assert.deepEqual(run().times(), { steady: 115, api: wall / 1000 });
});

test("keeps the failures of writes, and the end of a rollout, from run to run", () => {
  const open = { seconds: () => 0, now: () => new Date() };
  const reconcilers = assembleReconciler(open as never);
  const run = () => reconcilers({ policy: policyWith({}) } as never, {} as never);
  run().ended.revision = 7;
  assert.equal(run().ended.revision, 7);
  assert.equal(run().repairs, run().repairs);
  assert.equal(run().guard, run().guard);
});
