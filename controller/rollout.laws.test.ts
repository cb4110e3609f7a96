/**
 * The rollout played against a model of the DaemonSet controller: whatever the order in which agents get ready, nodes die and return,
 * contents change and everybody looks, the budget holds and in the end every living node has the last content.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { minReadySeconds, Model } from "./rollout.fixture.ts";
import { budgetNodes } from "./rollout.ts";

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant("sync" as const) },
  { weight: 6, arbitrary: fc.constant("reconcile" as const) },
  { weight: 12, arbitrary: fc.nat(19) },
  { weight: 4, arbitrary: fc.constant("second" as const) },
  { weight: 1, arbitrary: fc.constant("content" as const) },
);
const death = fc.record({ die: fc.nat(19) });
const birth = fc.record({ revive: fc.nat(19) });
const calm = fc.array(step, { maxLength: 300 });
const storm = fc.array(fc.oneof({ weight: 20, arbitrary: step }, death, birth), { maxLength: 300 });
const sizes = fc.integer({ min: 1, max: 20 });
const budgets = fc.constantFrom<(number | string)[]>(1, 2, 3, "10%", "25%", "60%");

function play(model: Model, schedule: readonly (string | number | { die: number } | { revive: number })[]): void {
  for (const one of schedule) {
    if (one === "sync") model.sync();
    else if (one === "reconcile") model.reconcile();
    else if (one === "second") model.now += 1;
    else if (one === "content") model.content += 1;
    else if (typeof one === "number") model.kubelet(one);
    else if (typeof one === "object" && "die" in one) model.die(one.die);
    else if (typeof one === "object") model.revive(one.revive);
  }
}

test("law: as long as no node dies, no more nodes than the budget are at work, however often the content changes", () => {
  fc.assert(
    fc.property(sizes, budgets, calm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      model.settle();
      assert.ok(
        model.mostTaken <= budgetNodes(budget, size),
        `${model.mostTaken} nodes at once of ${size} with ${budget}`,
      );
      assert.ok(model.takenBeforeProof <= 1, `${model.takenBeforeProof} nodes before the first was available`);
    }),
  );
});

test("law: every schedule ends with every living node on the last content, unless one fell silent under the revision itself", () => {
  fc.assert(
    fc.property(sizes, budgets, storm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      const seconds = model.settle();
      assert.ok(
        model.isDone(),
        `not done after ${seconds} s: template ${model.template}, ${JSON.stringify(model.status)}`,
      );
    }),
  );
});

test("law: with nodes dying, no more than the budget and the dead are at work", () => {
  fc.assert(
    fc.property(sizes, budgets, storm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      assert.ok(model.mostTaken <= budgetNodes(budget, size) + model.everDead);
    }),
  );
});

test("law: with the whole cluster as budget a revision takes one turn", () => {
  const model = new Model(20, "100%");
  model.reconcile();
  assert.equal(model.template, 1);
  assert.ok(model.settle() <= minReadySeconds + 4);
});
