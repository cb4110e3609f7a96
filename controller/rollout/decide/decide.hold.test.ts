/**
 * Halts and outages in the model of the DaemonSet controller: what fails goes no further, and what
 * was proved stays.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  minutes,
  hours,
  deployed,
  having,
  restarts,
  phase,
  isHeld,
  at,
  out,
  back,
} from "./scenarios.fixture.ts";

test("a bad content reaches one node; neither an outage, nor joiners, nor replaced agents carry it further", () => {
  const model = deployed(20);
  model.content = 2;
  model.bad.add("document 2");
  model.pass(2 * minutes);
  assert.ok(isHeld(model), JSON.stringify(model.turn));
  assert.equal(restarts(model, 2).filter((count) => count > 0).length, 1);
  out(model);
  model.pass(minutes);
  back(model);
  model.pass(minutes);
  const joiner = model.join();
  for (const node of model.nodes.slice(0, 5)) node.pods = [];
  model.pass(minutes);
  assert.equal(joiner.applied, "document 1");
  assert.equal(restarts(model, 2).filter((count) => count > 0).length, 1);
  assert.equal(having(model, 1), 21);
  assert.ok(
    restarts(model, 1).every((count) => count === 1),
    "a hold restarts nobody",
  );
});

test("a failure after the canary halts as well: what the wave has in flight is all that is lost", () => {
  const model = deployed(50, "10%");
  for (const node of model.nodes.slice(20)) node.trouble = "breaks";
  model.content = 2;
  model.pass(5 * minutes);
  assert.ok(isHeld(model));
  const failed = model.nodes.filter(
    (node) => node.trouble === "breaks" && node.restarts.includes("document 2"),
  ).length;
  assert.ok(failed <= 5, `${failed} failed`);
  assert.ok(having(model, 2) >= 1, "what has been proved is never taken back");
});

test("with a tolerance the wave goes on past so many failures, and no further", () => {
  const some = deployed(20, 2);
  some.maxFailures = 2;
  for (const node of some.nodes.slice(9, 11)) node.trouble = "breaks";
  some.content = 2;
  some.converge();
  assert.equal(having(some, 2), 18);
  const many = deployed(20, 2);
  many.maxFailures = "10%";
  for (const node of many.nodes.slice(9)) node.trouble = "breaks";
  many.content = 2;
  many.pass(10 * minutes);
  assert.ok(isHeld(many));
});

test("a node at fault: the content is tried once more after ten minutes, goes past it, and is served", () => {
  const model = deployed(6);
  at(model, 0).trouble = "breaks";
  model.content = 2;
  model.pass(9 * minutes);
  assert.deepEqual([isHeld(model), having(model, 2)], [true, 0]);
  model.converge();
  assert.ok(model.now < 13 * minutes, `${model.now} s`);
  assert.equal(having(model, 2), 5);
  model.pass(minutes);
  assert.equal(phase(model), "served");
  assert.deepEqual(model.rollouts, { ...model.rollouts, halt: undefined, excused: ["n0"] });
  model.content = 3;
  const seconds = model.converge();
  assert.ok(seconds < 80, `the next change takes ${seconds} s`);
});

test("a content at fault: its tries fail on other nodes, ever more rarely, one node each", () => {
  const model = deployed(20);
  model.bad.add("document 2");
  model.content = 2;
  model.pass(24 * hours);
  assert.equal(model.rollouts.halt?.reason, "stalled");
  const touched = restarts(model, 2).filter((count) => count > 0).length;
  const tries = restarts(model, 2).reduce((sum, count) => sum + count, 0);
  assert.ok(touched >= 2 && touched <= 12 && tries <= 60, `${touched} nodes, ${tries} tries`);
  assert.ok(isHeld(model) && having(model, 1) === 20);
});

test("a changed document ends the hold, and so does an asked-for retry", () => {
  const model = deployed(6);
  model.bad.add("document 2");
  model.content = 2;
  model.pass(2 * minutes);
  assert.ok(isHeld(model));
  model.bad.clear();
  model.retry = "please";
  model.converge();
  assert.ok(model.now < 5 * minutes && having(model, 2) === 6, `${model.now} s`);
  model.bad.add("document 3");
  model.content = 3;
  model.pass(2 * minutes);
  assert.ok(isHeld(model));
  model.content = 4;
  assert.ok(model.converge() < 2 * minutes);
  assert.equal(model.rollouts.halt, undefined);
});

test("an outage in mid-wave holds; when the nodes are back the wave goes on, and no kubelet is restarted twice", () => {
  const model = deployed(100, "10%");
  model.content = 2;
  model.pass(10 * minutes, () => having(model, 2) >= 50);
  out(model);
  model.pass(minutes);
  assert.ok(isHeld(model), JSON.stringify(model.turn));
  const proved = having(model, 2);
  back(model);
  const first = model.now;
  model.pass(20 * minutes, () => model.isDone());
  assert.ok(model.isDone(), JSON.stringify([model.turn, model.status]));
  assert.ok(
    restarts(model, 2).every((count) => count === 1),
    JSON.stringify(restarts(model, 2)),
  );
  assert.ok(proved >= 50 && proved < 100 && model.now - first < 15 * minutes, `${proved} proved`);
  assert.ok(model.mostTaken <= 10, `${model.mostTaken} at once`);
});

test("a rack that dies in mid-wave and returns does not widen it", () => {
  const model = deployed(100, "10%");
  model.content = 2;
  model.pass(10 * minutes, () => having(model, 2) >= 30);
  out(model, (index) => index >= 70 && index < 90);
  model.pass(2 * minutes);
  back(model);
  model.converge();
  assert.ok(model.isDone() && model.mostTaken <= 10, `${model.mostTaken} at once`);
});

test("a removal under a hold goes first: the credential leaves every node that can give it back", () => {
  const model = deployed(6);
  model.bad.add("document 2");
  model.content = 2;
  model.pass(2 * minutes);
  assert.ok(isHeld(model));
  model.intent = "release";
  assert.ok(model.converge() < 2 * minutes);
  assert.ok(model.nodes.every(({ applied }) => applied === undefined));
});

test("a release that fails on a node stops, is never turned into a hold, and goes on without that node", () => {
  const model = deployed(6);
  at(model, 0).trouble = "breaks";
  model.intent = "release";
  model.pass(5 * minutes);
  assert.deepEqual([phase(model), isHeld(model)], ["halted", false]);
  model.converge();
  assert.ok(model.now < 13 * minutes, `${model.now} s`);
  assert.deepEqual(
    [...model.contents.values()].map(({ intent }) => intent),
    ["apply", "release"],
  );
  assert.equal(model.nodes.filter(({ applied }) => applied === undefined).length, 5);
});

test("a minimum interval holds back a change, not a removal", () => {
  const model = deployed(3);
  model.intervalLeft = 60;
  model.content = 2;
  model.pass(30);
  assert.deepEqual([phase(model), model.published], ["interval", 1]);
  model.intent = "release";
  model.converge();
  assert.equal(model.contents.get(model.published)?.intent, "release");
});

/** The credential of one of two sources is taken back with the second content. */
function withdrawsOne(nodes: number) {
  const model = deployed(nodes, 1, '{"a.io":"additional","b.io":"team-b"}');
  model.content = 2;
  model.sources = '{"a.io":"additional"}';
  return model;
}

test("a minimum interval does not hold back what takes one source of several away", () => {
  const model = withdrawsOne(3);
  model.intervalLeft = 60;
  model.converge();
  assert.deepEqual([model.published, having(model, 2)], [2, 3]);
  // The next change is one like any other.
  model.content = 3;
  model.pass(30);
  assert.deepEqual([phase(model), model.published], ["interval", 2]);
});

test("one source's withdrawal that a node fails with stands, and nobody gets back what was taken", () => {
  const model = withdrawsOne(6);
  at(model, 0).trouble = "breaks";
  model.pass(5 * minutes);
  assert.deepEqual([phase(model), isHeld(model)], ["halted", false]);
  const joiner = model.join();
  model.pass(minutes);
  assert.equal(joiner.applied, "document 2");
  model.converge();
  assert.ok(model.now < 15 * minutes, `${model.now} s`);
  assert.deepEqual(
    [...model.contents.values()].map(({ intent }) => intent),
    ["apply", "apply"],
  );
  assert.equal(having(model, 2), 6);
});
