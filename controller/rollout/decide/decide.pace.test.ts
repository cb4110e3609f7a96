/** How long a change takes past nodes that cannot have it, and what asking about them costs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "./decide.fixture.ts";
import { at, deployed, having, phase } from "./scenarios.fixture.ts";

type Trouble = (model: Model) => void;
const odd =
  (how: "refuses" | "hangs"): Trouble =>
  (model) => {
    // Its agent is replaced for another reason, and finds the node odd now.
    at(model, 1).trouble = how;
    at(model, 1).pods = [];
    model.pass(600);
  };
const troubles: readonly (readonly [string, Trouble])[] = [
  ["is unfit", odd("refuses")],
  ["hangs", odd("hangs")],
  ["is unreachable", (model) => (model.die(at(model, 1)), model.pass(600))],
  ["died a moment ago", (model) => (model.die(at(model, 1)), model.pass(1))],
];

/** Seconds from a change until every node that can have it has it, and that is known. */
function change(model: Model): number {
  const begun = model.now;
  model.content += 1;
  model.pass(3600, () => phase(model) === "served" && model.isDone());
  assert.ok(model.isDone());
  return model.now - begun;
}

for (const size of [4, 10, 20])
  for (const budget of [1, "50%"])
    for (const [what, trouble] of troubles)
      test(`of ${size} nodes, ${budget} at a time, one ${what}: a change is as quick as without it`, () => {
        const healthy = change(deployed(size, budget));
        const model = deployed(size, budget);
        trouble(model);
        const before = model.surveys;
        const seconds = change(model);
        // The second look at the first node.
        assert.ok(seconds <= healthy + 1, `${seconds} s instead of ${healthy} s`);
        // At its begin, at the first node (two looks, where its Ready had not stood), before the
        // last one of those that live, at its end; and every half minute of a wave that has slots
        // for it.
        const most = 5 + Math.floor(seconds / 30);
        assert.ok(
          model.surveys - before <= most,
          `${model.surveys - before} surveys in ${seconds} s`,
        );
      });

test("a healthy rollout reads neither nodes nor pods", () => {
  const model = deployed(20, 2);
  const before = model.surveys;
  change(model);
  assert.equal(model.surveys, before);
});

test("two changes past an odd node follow each other without a pause", () => {
  const model = deployed(10);
  odd("refuses")(model);
  const first = change(model);
  assert.ok(change(model) <= first + 1);
});

const edits: readonly (readonly [from: number | string, to: number | string, seconds: number])[] = [
  [1, "100%", 1],
  [1, 5, 1],
  ["2%", "5%", 1],
  ["5%", "2%", 1],
  ["5%", 1, 1],
  // As many could be slots for odd nodes, until nodes are read.
  [5, 2, 30],
];
for (const [from, to, seconds] of edits)
  test(`a budget edited from ${from} to ${to} in mid-wave holds for the rest of the wave`, () => {
    const model = deployed(200, from);
    model.content = 2;
    model.pass(600, () => having(model, 2) > 2);
    model.budget = to;
    model.pass(seconds);
    assert.equal(model.strategy.maxUnavailable, to);
    assert.ok(!model.isDone());
  });
