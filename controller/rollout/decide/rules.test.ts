/** Bounds at their edges: where one node more, or one less, changes the answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import { isOutage } from "./excuses.ts";
import { standing as standingOf } from "./node-state.ts";
import { failuresAllowed } from "./strategy.ts";
import type { DaemonSetState, RolloutInput } from "./turn.ts";

const daemonSet: DaemonSetState = {
  template: 4,
  digest: "",
  drifted: false,
  stage: "wave",
  maxUnavailable: 3,
  observed: true,
  desired: 20,
  updated: 8,
  ready: 17,
  available: 17,
};
const standing = { ...standingOf([]), total: 20 };
const input: RolloutInput = {
  published: 4,
  pending: false,
  intent: "apply",
  wanted: "apply",
  takesBack: { published: false, wanted: false },
  lost: false,
  complete: false,
  daemonSet,
  stallSeconds: 0,
  readySeconds: 3,
  surveySeconds: 0,
  suspicious: false,
  haltKnown: false,
  probationSeconds: 5,
  restSeconds: 0,
  retrySeconds: 0,
  standing,
  maxUnavailable: 3,
  restarts: true,
  maxFailures: 0,
};

test("in mid-wave as many nodes as the budget may fall, and one more is an outage; under a hold or at birth none is", () => {
  const fallen = { ...standing, fallen: 3 };
  assert.equal(isOutage(fallen, input, daemonSet), false);
  assert.equal(isOutage({ ...fallen, fallen: 4 }, input, daemonSet), true);
  assert.equal(isOutage({ ...fallen, fallen: 4 }, { ...input, intent: "hold" }, daemonSet), false);
  assert.equal(isOutage({ ...fallen, fallen: 4 }, input, { ...daemonSet, template: 0 }), false);
});

test("a percentage of nodes that may fail is rounded down: 1% of 20 allows none", () => {
  const table: readonly (readonly [most: number | string, desired: number, allowed: number])[] = [
    [0, 20, 0],
    [2, 20, 2],
    ["1%", 20, 0],
    ["5%", 20, 1],
    ["5%", 39, 1],
    ["100%", 3, 3],
  ];
  for (const [most, desired, allowed] of table)
    assert.equal(failuresAllowed(most, desired), allowed, `${most} of ${desired}`);
});

test("a repair whose first agent failed stays at one node, whoever else is well", () => {
  const one = {
    ...daemonSet,
    stage: "canary",
    maxUnavailable: 1,
    updated: 2,
    available: 19,
  } as const;
  const moving = { ...standing, served: 1, waiting: 18 };
  const stageWith = (failed: number) => {
    const fates = { ...moving, failed };
    const turn = decide({ ...input, complete: true, daemonSet: one, standing: fates });
    return turn.kind === "wait" && turn.strategy.stage;
  };
  assert.deepEqual([stageWith(0), stageWith(1)], ["wave", "canary"]);
});
