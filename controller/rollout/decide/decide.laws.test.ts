/**
 * The rollout played against a model of the DaemonSet controller: whatever the order in which
 * agents get ready, nodes die, fail, join and return, contents change, templates are edited and
 * everybody looks, the budget holds and in the end every node that can has the last content.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Model } from "./decide.fixture.ts";
import { both, budgets, calm, play, rough, sizes, storm } from "./schedule.fixture.ts";
import { TroubledModel } from "./trouble.fixture.ts";
import { unavailableOf } from "#test/harness/nodes/daemonset-controller.ts";

const runs = (numRuns: number) => ({ numRuns, endOnFailure: true });

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
    runs(500),
  );
});

test("law: where any node can have it, every schedule ends with the last content on every node that lives and can", () => {
  fc.assert(
    fc.property(sizes, budgets, storm, (size, budget, schedule) => {
      const model = new Model(size, budget);
      play(model, schedule);
      // Odd nodes stay odd, but a third of them is no odd nodes any more.
      const odd = model.nodes.filter(
        (node) => node.trouble === "hangs" || node.trouble === "breaks",
      );
      for (const node of odd.slice(Math.floor(model.nodes.length / 3))) node.trouble = undefined;
      for (const node of model.nodes) model.revive(node, "rebooted");
      // Where nobody can have it there is nothing to go by.
      if (!model.nodes.some((node) => node.trouble === undefined)) return;
      const seconds = model.converge();
      assert.ok(model.isDone(), `not done after ${seconds} s: ${status(model)}`);
    }),
    runs(500),
  );
});

test("law: beside nodes in trouble no more than the budget are at work, and as many as came back a moment ago", () => {
  let telling = 0;
  fc.assert(
    fc.property(sizes, budgets, rough, (size, budget, schedule) => {
      const model = new TroubledModel(size, budget);
      model.converge();
      play(model, schedule);
      const most = unavailableOf(budget, size);
      assert.ok(model.mostBeside <= most, `${model.mostBeside} nodes of ${size} with ${budget}`);
      if (model.isWorkBeside && most + model.mostReturned < size) telling += 1;
    }),
    runs(200),
  );
  // Where the bound is every node, or nothing is done beside a node in trouble, it says nothing.
  assert.ok(telling >= 100, `only ${telling} schedules of 200 tell anything`);
});

test("law: whatever fails, no hold gives nodes what was taken back", () => {
  fc.assert(
    fc.property(sizes, budgets, rough, (size, budget, schedule) => {
      const model = new TroubledModel(size, budget);
      model.sources = both;
      model.converge();
      play(model, schedule);
      assert.deepEqual(model.broughtBack, []);
    }),
    runs(150),
  );
});
