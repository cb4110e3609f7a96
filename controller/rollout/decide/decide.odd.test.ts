/** Odd and unreachable nodes in the model of the DaemonSet controller: nobody holds up another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "./decide.fixture.ts";
import {
  minutes,
  deployed,
  having,
  restarts,
  phase,
  isHeld,
  at,
  out,
  back,
} from "./scenarios.fixture.ts";

for (const odd of ["refuses", "hangs"] as const)
  for (const size of [4, 5, 10, 20])
    for (const change of ["change", "removal"] as const)
      test(`one node that ${odd} under any revision does not keep the ${change} from the other ${size - 1}`, () => {
        const model = deployed(size);
        // Its agent is replaced for another reason, and finds the node odd now.
        at(model, 2).trouble = odd;
        at(model, 2).pods = [];
        model.pass(10 * minutes);
        if (change === "change") model.content = 2;
        else model.intent = "release";
        const seconds = model.converge();
        assert.ok(model.isDone() && seconds < size * 12, `${seconds} s`);
        assert.equal(model.mostTaken, 1);
      });

test("an unfit node is known at birth, and the first revision passes it", () => {
  const model = new Model(4, 1);
  at(model, 1).trouble = "refuses";
  const seconds = model.converge();
  assert.ok(model.isDone() && seconds < 60, `${seconds} s`);
  model.pass(20);
  assert.equal(phase(model), "served");
});

test("an agent that hangs at birth delays the first revision by five minutes, not for ever", () => {
  const model = new Model(4, 1);
  at(model, 1).trouble = "hangs";
  const seconds = model.converge();
  assert.ok(seconds > 4 * minutes && seconds < 8 * minutes, `${seconds} s`);
});

test("more than a third of the nodes out is an outage: nothing rolls until it is over", () => {
  const model = deployed(9);
  out(model, (index) => index < 4);
  model.pass(2 * minutes);
  model.content = 2;
  model.pass(30 * minutes);
  assert.equal(phase(model), "outage");
  assert.deepEqual([having(model, 2), model.template], [0, 1]);
  back(model);
  model.converge();
  assert.ok(model.isDone() && model.mostTaken === 1, String(model.mostTaken));
});

test("nodes that were switched off for an hour are no outage", () => {
  const model = deployed(9);
  out(model, (index) => index < 5);
  model.pass(61 * minutes);
  model.content = 2;
  model.converge();
  assert.equal(having(model, 2), 4);
});

test("slots of unreachable nodes are taken back within half a minute of their return, while the wave moves", () => {
  const model = deployed(60, 2);
  out(model, (index) => index < 2);
  model.pass(2 * minutes);
  model.content = 2;
  model.pass(10 * minutes, () => having(model, 2) >= 10);
  assert.deepEqual(model.strategy, { stage: "wave", maxUnavailable: 4 });
  back(model);
  model.pass(32);
  assert.deepEqual(model.strategy, { stage: "wave", maxUnavailable: 2 });
  assert.ok(!model.isDone(), "the wave still moves");
});

test("an edit of Secret or template after an outage waits for the agents, though the Secret is right at once", () => {
  for (const what of ["lost", "edit"] as const) {
    const model = deployed(100, "10%");
    out(model);
    model.sync();
    back(model);
    for (const node of model.nodes.slice(0, 3)) model.kubelet(node);
    model.now += 4;
    model.sync();
    assert.equal(model.status.available, 3);
    if (what === "lost") model.lost = true;
    else model.edit();
    model.reconcile();
    if (what === "lost") assert.deepEqual([model.published, model.template], [2, 1]);
    model.converge();
    assert.ok(model.isDone() && model.mostTaken <= 10, `${what}: ${model.mostTaken} at once`);
  }
});

test("a kubelet whose clock is behind: its false Ready costs one node more at a time, never a wave or the next template", () => {
  const model = deployed(20, "50%");
  for (const node of model.nodes) node.behind = 60;
  model.bad.add("document 2");
  model.content = 2;
  model.pass(3 * minutes);
  // The DaemonSet controller goes by that clock; we do not.
  assert.equal(model.strategy.maxUnavailable, "100%");
  assert.ok(isHeld(model));
  assert.ok(restarts(model, 2).filter((count) => count > 0).length <= 2);
});

test("a node that is unreachable for weeks costs a survey in five minutes, however often the controller looks", () => {
  const model = deployed(10);
  out(model, (index) => index === 3);
  model.pass(10 * minutes);
  const before = model.surveys;
  for (let look = 0; look < 3600; look++) {
    model.now += 1;
    model.reconcile();
  }
  assert.ok(model.surveys - before <= 13, `${model.surveys - before} surveys in an hour`);
  assert.equal(phase(model), "served");
});

test("a flickering Ready of one node holds nobody up for longer than five minutes", () => {
  const model = deployed(5);
  model.content = 2;
  const seconds = model.pass(20 * minutes, () => {
    if (model.now % 2 === 0) model.flicker(at(model, 4));
    return model.nodes.slice(0, 4).every((node) => model.has(node));
  });
  assert.ok(seconds < 10 * minutes, `${seconds} s`);
});

/** Nodes that have begun the second content, which no kubelet survives. */
const harmed = (model: Model) => restarts(model, 2).filter((count) => count > 0).length;

/** A second content that no kubelet survives is asked for. */
function changed(model: Model): void {
  model.bad.add("document 2");
  model.content = 2;
}

test("agents that are NotReady on nodes that are back are not all replaced: a change that waited reaches one node first", () => {
  const model = deployed(20);
  model.pass(5 * minutes);
  // What the node controller does to the pods of the nodes that it missed.
  for (const node of model.nodes) model.flicker(node);
  changed(model);
  // Nodes report at once; their kubelets have yet to see what became of their pods.
  for (let second = 0; second < 60; second++) {
    model.tick();
    model.sync();
    model.reconcile();
  }
  assert.equal(model.template, 1);
  model.pass(3 * minutes);
  assert.equal(harmed(model), 1);
});

test("as long as the nodes of an outage come back, a change that waits begins nowhere", () => {
  const model = deployed(9);
  out(model, (index) => index < 4);
  model.pass(10 * minutes);
  changed(model);
  model.pass(minutes);
  for (const index of [0, 1, 2, 3]) {
    model.revive(at(model, index), "rebooted");
    model.pass(15);
  }
  model.pass(5 * minutes);
  assert.equal(harmed(model), 1);
});
