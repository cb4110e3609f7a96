/**
 * The rollout played against a model of the DaemonSet controller: whatever the order in which
 * agents get ready, nodes die, fail, join and return, contents change, templates are edited and
 * everybody looks, the budget holds and in the end every node that can has the last content.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Model } from "./decide.fixture.ts";
import { unavailableOf } from "#controller/objects/daemonset/daemonset.fixture.ts";

type Step =
  | "sync"
  | "old"
  | "reconcile"
  | "second"
  | "minute"
  | "content"
  | "edit"
  | "join"
  | "lost"
  | "outage"
  | "return";
type On = "kubelet" | "flicker" | "die" | "revive" | "breaks" | "refuses" | "hangs" | "heals";
type Event = Step | readonly [On, number];

/** Weights in hundredths. */
const just = (weight: number, event: Step) => ({ weight, arbitrary: fc.constant<Event>(event) });
const on = (weight: number, what: On) => ({
  weight,
  arbitrary: fc.nat(19).map((node): Event => [what, node]),
});

const usual = [
  just(600, "sync"),
  just(600, "reconcile"),
  just(500, "second"),
  just(100, "content"),
  on(1400, "kubelet"),
  just(200, "old"),
  just(10, "join"),
  just(3, "edit"),
  just(3, "lost"),
];
const trouble = [
  on(50, "die"),
  on(50, "revive"),
  on(20, "breaks"),
  on(20, "refuses"),
  on(20, "hangs"),
  on(30, "heals"),
  on(30, "flicker"),
  just(10, "outage"),
  just(10, "return"),
  just(20, "minute"),
];
/** fast-check's own size would play five events of these. */
const events = (arbitrary: fc.Arbitrary<Event>) =>
  fc.array(arbitrary, { minLength: 200, maxLength: 300, size: "max" });
const calm = events(fc.oneof(...usual));
const storm = events(fc.oneof(...usual, ...trouble));
const sizes = fc.integer({ min: 1, max: 20 });
const budgets = fc.constantFrom<(number | string)[]>(1, 2, 3, "10%", "25%", "60%");
const runs = { numRuns: 500, endOnFailure: true };

/** Nodes that were in trouble once, by name. */
function play(model: Model, schedule: readonly Event[]): Set<string> {
  const troubled = new Set<string>();
  const steps: Record<Step, () => unknown> = {
    sync: () => model.sync(),
    old: () => model.sync(true),
    reconcile: () => model.reconcile(),
    second: () => model.tick(),
    minute: () => model.tick(60),
    content: () => (model.content += 1),
    edit: () => model.edit(),
    join: () => model.nodes.length < 30 && model.join(),
    lost: () => (model.lost = true),
    outage: () => {
      for (const index of model.nodes.keys()) model.die(index);
      for (const { name } of model.nodes) troubled.add(name);
    },
    return: () => {
      for (const index of model.nodes.keys()) model.revive(index);
    },
  };
  for (const event of schedule) {
    if (typeof event === "string") steps[event]();
    else {
      const [what, index] = event;
      const node = model.nodes[index % model.nodes.length];
      if (node === undefined) continue;
      if (what !== "kubelet" && what !== "heals") troubled.add(node.name);
      if (what === "breaks") node.broken = true;
      else if (what === "refuses" || what === "hangs") node.odd = what;
      else if (what === "heals") [node.broken, node.odd] = [false, undefined];
      else model[what](index);
    }
    model.measure();
  }
  return troubled;
}

const status = (model: Model) =>
  `${JSON.stringify(model.turn)} template ${model.template} ${JSON.stringify(model.status)} ${JSON.stringify(model.nodes)}`;

test("law: as long as no node is in trouble, no more nodes than the budget are at work, whatever changes or joins; beside an edit those that joined may be", () => {
  fc.assert(
    fc.property(sizes, budgets, calm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      model.converge();
      // An edit is rolled with the strategy in force, and what was edited gives way at once.
      const edited = schedule.includes("edit") || schedule.includes("lost");
      // A repair goes by counters; an old view may take a joiner, which works, for one that does
      // not.
      const joined = edited ? schedule.filter((event) => event === "join").length : 0;
      const most = unavailableOf(budget, model.nodes.length) + joined;
      assert.ok(
        model.mostTaken <= most,
        `${model.mostTaken} nodes at once of ${size} with ${budget}`,
      );
      assert.ok(
        edited || model.takenBeforeProof <= 1,
        `${model.takenBeforeProof} nodes before the first was available`,
      );
      assert.ok(model.isDone(), status(model));
    }),
    runs,
  );
});

test("law: where any node can have it, every schedule ends with the last content on every node that lives and can", () => {
  fc.assert(
    fc.property(sizes, budgets, storm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      // Odd nodes stay odd, but a third of them is no odd nodes any more.
      const odd = model.nodes.filter((node) => node.odd === "hangs" || node.broken);
      for (const node of odd.slice(Math.floor(model.nodes.length / 3)))
        [node.odd, node.broken] = [undefined, false];
      for (const index of model.nodes.keys()) model.revive(index);
      // Where nobody can have it there is nothing to go by.
      if (!model.nodes.some((node) => node.odd === undefined && !node.broken)) return;
      const seconds = model.converge();
      assert.ok(model.isDone(), `not done after ${seconds} s: ${status(model)}`);
    }),
    runs,
  );
});

test("law: in any trouble no more than the budget and the nodes in trouble are at work", () => {
  fc.assert(
    fc.property(sizes, budgets, storm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      const troubled = play(model, schedule);
      assert.ok(model.mostTaken <= unavailableOf(budget, model.nodes.length) + troubled.size);
    }),
    runs,
  );
});
