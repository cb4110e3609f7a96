/**
 * The rollout while others are late: the DaemonSet controller, which sees its pods as they were or
 * does nothing, and the nodes of an outage, which come back one by one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { unavailableOf } from "#test/harness/nodes/daemonset-controller.ts";
import { Model } from "./decide.fixture.ts";
import { deployed, out } from "./scenarios.fixture.ts";
import { budgets } from "./schedule.fixture.ts";

const sizes = fc.integer({ min: 2, max: 20 });
const runs = (numRuns: number) => ({ numRuns, endOnFailure: true });

function holds(model: Model, budget: number | string): void {
  model.converge();
  assert.ok(model.isDone());
  const { length } = model.nodes;
  const most = unavailableOf(budget, length);
  assert.ok(model.mostTaken <= most, `${model.mostTaken} nodes of ${length} with ${budget}`);
}

/** The cluster when the DaemonSet controller begins to be late. */
const moments = {
  birth(size: number, budget: number | string): Model {
    const model = new Model(size, budget);
    model.reconcile();
    model.sync();
    return model;
  },
  served: (size: number, budget: number | string): Model => deployed(size, budget),
  /** So many nodes lack the second content. */
  wave(size: number, budget: number | string, lacking: number): Model {
    const model = deployed(size, budget);
    model.content = 2;
    const without = () => model.nodes.filter(({ applied }) => applied !== "document 2");
    model.pass(3600, () => without().length <= lacking);
    return model;
  },
  /** Every agent has just turned NotReady, as after an outage of the API server. */
  dip(size: number, budget: number | string): Model {
    const model = deployed(size, budget);
    for (const node of model.nodes) model.flicker(node);
    model.sync();
    return model;
  },
};
const lateness = fc.record({
  size: sizes,
  budget: budgets,
  moment: fc.constantFrom<(keyof typeof moments)[]>("birth", "served", "wave", "dip"),
  // Most often the last node has it, and the DaemonSet controller does not know.
  lacking: fc.oneof(fc.constant(0), fc.nat(19)),
  sees: fc.constantFrom("what was", "nothing"),
  change: fc.constantFrom("content", "lost"),
  /** Seconds of lateness before the change and after it. */
  before: fc.nat(20),
  after: fc.nat(40),
});

test("law: however late the DaemonSet controller sees what became of its pods, a change goes to one node first, and then to no more than the budget", () => {
  fc.assert(
    fc.property(lateness, ({ size, budget, moment, lacking, sees, change, before, after }) => {
      const model = moments[moment](size, budget, lacking);
      const late = () => {
        if (sees === "what was") model.sync(true);
        for (const node of model.nodes) model.kubelet(node);
      };
      model.pass(before, undefined, late);
      if (change === "lost") model.lost = true;
      else model.content += 1;
      model.pass(after, undefined, late);
      holds(model, budget);
      // A repair begins while as many agents are missing as the budget allows, and takes them all.
      if (change === "lost") return;
      assert.ok(model.takenBeforeProof <= 1, `${model.takenBeforeProof} nodes before a proof`);
    }),
    runs(300),
  );
});

const returns = fc.record({
  size: fc.integer({ min: 3, max: 20 }),
  budget: budgets,
  // From 300 s on it is long ago that a node fell.
  away: fc.oneof(fc.integer({ min: 20, max: 60 }), fc.integer({ min: 290, max: 340 })),
  /** Second in which each node is back, and seconds until its kubelet looks at its pods again. */
  back: fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { minLength: 20, maxLength: 20 }),
  change: fc.nat(450),
});

test("law: a change that comes in an outage of all nodes, or soon after, goes to one node first, and then to no more than the budget, in whatever order they come back", () => {
  fc.assert(
    fc.property(returns, ({ size, budget, away, back, change }) => {
      const model = deployed(size, budget);
      const begun = model.now;
      const nodes = model.nodes.map((node, index) => [node, back[index] ?? [0, 0]] as const);
      const others = () => {
        const passed = model.now - begun - away;
        for (const [node, [returns]] of nodes)
          if (passed >= returns) model.revive(node, "rebooted");
        model.sync();
        for (const [node, [returns, looks]] of nodes)
          if (passed >= returns + looks) model.kubelet(node);
      };
      out(model);
      model.pass(change, undefined, others);
      model.content += 1;
      model.pass(away + 61, undefined, others);
      holds(model, budget);
      assert.ok(model.takenBeforeProof <= 1, `${model.takenBeforeProof} nodes before a proof`);
    }),
    runs(200),
  );
});
