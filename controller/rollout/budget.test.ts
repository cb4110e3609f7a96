import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { budgetNodes, failuresAllowed } from "./observe.ts";

const budgets: readonly (readonly [budget: number | string, desired: number, nodes: number])[] = [
  [1, 0, 1],
  [3, 2, 3],
  [0, 5, 1],
  ["1%", 0, 1],
  ["1%", 100, 1],
  ["1%", 101, 2],
  ["10%", 25, 3],
  ["50%", 3, 2],
  ["99%", 1, 1],
];
for (const [budget, desired, nodes] of budgets)
  test(`gives ${nodes} nodes when the budget is ${budget} of ${desired}`, () =>
    assert.equal(budgetNodes(budget, desired), nodes));

const failures: readonly (readonly [most: number | string, desired: number, nodes: number])[] = [
  [0, 5, 0],
  [2, 1, 2],
  ["1%", 20, 0],
  ["10%", 25, 2],
  ["100%", 3, 3],
  ["50%", 0, 0],
];
for (const [most, desired, nodes] of failures)
  test(`allows ${nodes} failed nodes when maxFailures is ${most} of ${desired} nodes`, () =>
    assert.equal(failuresAllowed(most, desired), nodes));

test("law: a budget is at least one node, and never less than its percentage", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99 }), fc.nat(10_000), (percent, desired) => {
      const nodes = budgetNodes(`${percent}%`, desired);
      assert.ok(nodes >= 1 && nodes >= (percent * desired) / 100);
      assert.ok(nodes === 1 || nodes - 1 < (percent * desired) / 100);
      assert.ok(failuresAllowed(`${percent}%`, desired) <= (percent * desired) / 100);
    }),
  );
});
