import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodFacts, Snapshot } from "./facts.ts";
import { nodeOf, now, pod, secret, snapshotOf } from "./snapshot.fixture.ts";
import { upgradeBudget } from "./upgrade.ts";

const budgetOf = (pods: readonly Partial<PodFacts>[], changes: Partial<Snapshot> = {}) => {
  const nodes = pods.map((podChanges, index) =>
    nodeOf(`n${index}`, { pod: { ...pod, ...podChanges } }),
  );
  return upgradeBudget({ ...snapshotOf({ nodes, ...changes }), secret });
};

const old = { isCurrent: false };
const cut = { ...old, isUnreachable: true };
const since = (seconds: number) => ({ readySince: now - seconds });
const isOld = { template: { isCurrent: false, mode: "Restart", maxUnavailable: 1 } } as const;
const all = { policy: { ...snapshotOf().policy, maxUnavailable: "all" } } as const;

const budgets: readonly [
  condition: string,
  pods: readonly Partial<PodFacts>[],
  expected: number,
  changes?: Partial<Snapshot>,
][] = [
  ["no pod is replaced", [since(60), since(60)], 1],
  ["no pod is replaced, and a node is unreachable", [since(60), { isUnreachable: true }], 1],
  ["the template must be written", [since(60), since(60)], 1, isOld],
  ["the DaemonSet is missing", [since(60)], 1, { template: undefined }],
  ["no pod of the template exists", [old, old], 1],
  ["the first pod is not Ready", [{ readySince: undefined }, old], 1],
  ["the first pod was Ready for 59 s", [since(59), old], 1],
  ["the first pod was Ready for 60 s", [since(60), old], 2],
  ["an old pod was Ready for 60 s", [since(10), { ...old, ...since(60) }], 1],
  ["the Ready pod is on an unreachable node", [{ ...since(60), isUnreachable: true }, old], 2],
  ["a node is unreachable before the first pod", [old, cut], 2],
  ["a node is unreachable after the first pod", [since(60), old, cut], 3],
  ["the policy allows all", [since(60), old, old], 3, all],
];
for (const [condition, pods, expected, changes] of budgets)
  test(`replaces ${expected} at a time if ${condition}`, () =>
    assert.equal(budgetOf(pods, changes).maxUnavailable, expected));

test("decides again when the first pod has been Ready for 60 s", () => {
  assert.deepEqual(
    [budgetOf([since(15), since(20), old]).again, budgetOf([since(60), old]).again],
    [40, Number.POSITIVE_INFINITY],
  );
});
