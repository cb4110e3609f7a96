/** Bounds at their edges: where one node more, or one less, changes the answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import { isOutage } from "#controller/rollout/turn/excuses.ts";
import { input, counts, daemonSetState } from "./input.fixture.ts";
import { budgetNodes, failuresAllowed } from "#controller/rollout/turn/strategy.ts";

const inWave = { maxUnavailable: 3, updated: 8, ready: 17, available: 17 };
const daemonSet = daemonSetState(inWave);
const wave = input({ daemonSet, maxUnavailable: 3, counts: counts() });

test("in mid-wave as many nodes as the budget may fall, and one more is an outage; under a hold or at birth none is", () => {
  const fallen = counts({ fallen: 3 });
  assert.equal(isOutage(fallen, wave, daemonSet), false);
  assert.equal(isOutage({ ...fallen, fallen: 4 }, wave, daemonSet), true);
  assert.equal(isOutage({ ...fallen, fallen: 4 }, { ...wave, intent: "hold" }, daemonSet), false);
  assert.equal(
    isOutage({ ...fallen, fallen: 4 }, wave, daemonSetState({ ...inWave, template: 0 })),
    false,
  );
});

test("a percentage of nodes at a time is rounded up, as the DaemonSet controller does, and is one at least", () => {
  const table: readonly (readonly [budget: number | string, desired: number, nodes: number])[] = [
    [1, 20, 1],
    [7, 3, 7],
    ["10%", 11, 2],
    ["25%", 6, 2],
    ["10%", 1, 1],
    ["10%", 10, 1],
    ["10%", 0, 1],
    ["1%", 5000, 50],
    ["100%", 7, 7],
  ];
  for (const [budget, desired, nodes] of table)
    assert.equal(budgetNodes(budget, desired), nodes, `${budget} of ${desired}`);
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
  const one = daemonSetState({
    stage: "canary",
    maxUnavailable: 1,
    updated: 2,
    ready: 17,
    available: 19,
  });
  const stageWith = (failed: number) => {
    const fates = counts({ served: 1, waiting: 18, failed });
    const turn = decide({ ...wave, complete: true, daemonSet: one, counts: fates });
    return turn.kind === "wait" && turn.strategy.stage;
  };
  assert.deepEqual([stageWith(0), stageWith(1)], ["wave", "canary"]);
});

test("75 s after an outage a change begins, and at once where the budget is every node", () => {
  const kindAfter = (calmSeconds: number, maxUnavailable: number | string = 3) => {
    const daemonSet = daemonSetState({ maxUnavailable });
    return decide(input({ pending: true, daemonSet, maxUnavailable, calmSeconds })).kind;
  };
  assert.deepEqual([kindAfter(74), kindAfter(75), kindAfter(0, "100%")], ["wait", "roll", "roll"]);
});
