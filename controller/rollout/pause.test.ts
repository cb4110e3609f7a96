/** A pause in the middle of a rollout: the steps that it delays, and the steps that continue. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { having, lastView, pass, served, servedCluster, until } from "#test/model/cluster.ts";
import { join, RELEASE, type World } from "#test/model/world.ts";

const driver = { rewrite: {} };
const nodes = 8;
const newer = "200.2";

/** Content 200 is on `count` of eight nodes when the pause begins. */
function paused(count: number, prepare: (w: World) => void = () => {}): World {
  const w = servedCluster({ seed: 1, nodes, budget: 2 });
  pass(w, driver, 10);
  prepare(w);
  w.api.a = 200;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 300, () => having(w, newer) >= count) < 300);
  w.api.paused = true;
  return w;
}

const granted = (w: World): number =>
  [...w.api.pods.values()].filter(({ grant }) => grant?.digest === newer).length;

function resumes(w: World): void {
  w.api.paused = false;
  const isOut = () => having(w, newer) === w.machines.size && served(w) === newer;
  assert.ok(until(w, driver, 1500, isOut) < 1500);
}

for (const count of [1, 3])
  test(`when a pause begins and ${count} of ${nodes} nodes have the content, grants to no other node until the pause ends`, () => {
    const w = paused(count);
    pass(w, driver, 2);
    const begun = granted(w);
    assert.ok(begun <= count + 2);
    pass(w, driver, 900);
    // A grant that was made before the pause is completed.
    assert.deepEqual([granted(w), having(w, newer), served(w)], [begun, begun, "1.2"]);
    const { pending, places, phase } = lastView(w);
    assert.deepEqual([pending, places, phase], ["paused", 0, "rollout"]);
    resumes(w);
    assert.equal(lastView(w).pending, "no");
  });

test("promotes content during a pause if every node has proved it, and reports that nothing waits", () => {
  const w = paused(nodes);
  assert.ok(until(w, driver, 60, () => served(w) === newer) < 60);
  assert.equal(lastView(w).pending, "no");
});

test("when a node returns with older content during a pause, reports the node, and grants the newer content after the pause", () => {
  const w = paused(nodes - 1, (before) => {
    const [away] = before.machines.values();
    if (away !== undefined) away.net = before.t + 900;
    pass(before, driver, 150);
  });
  assert.ok(until(w, driver, 60, () => served(w) === newer) < 60);
  assert.equal(lastView(w).pending, "no");
  pass(w, driver, 1200);
  const { pending, counts } = lastView(w);
  assert.deepEqual([pending, counts.waiting, having(w, newer)], ["paused", 1, nodes - 1]);
  resumes(w);
  assert.equal(lastView(w).pending, "no");
});

test("when a pause begins, stops the withdrawal of one of two sources halfway, and reports the pause", () => {
  const w = servedCluster({ seed: 1, nodes, budget: 2 });
  pass(w, driver, 10);
  w.api.b = 0;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 300, () => having(w, "1.0") >= 3) < 300);
  w.api.paused = true;
  join(w, "late");
  pass(w, driver, 900);
  assert.ok(having(w, "1.0") < nodes);
  // During a pause not all nodes can prove the newer content, so it is not served.
  assert.deepEqual([w.machines.get("late")?.file, lastView(w).pending], [RELEASE, "paused"]);
  w.api.paused = false;
  assert.ok(until(w, driver, 900, () => having(w, "1.0") === nodes + 1) < 900);
});

test("gives joining nodes the served content during a pause, and the newer content after the pause", () => {
  const w = paused(2);
  join(w, "late");
  pass(w, driver, 300);
  assert.equal(w.machines.get("late")?.file, "1.2");
  resumes(w);
});

test("replaces pods in an upgrade during a pause, and changes no node's content", () => {
  const w = paused(3);
  pass(w, driver, 60);
  const files = () => [...w.machines.values()].map(({ file }) => file);
  const before = files();
  w.api.want = { ...w.api.want, n: 2 };
  w.templates.set(2, w.api.want);
  const isNew = () => [...w.api.pods.values()].every((pod) => pod.template === 2 && pod.ready);
  assert.ok(until(w, driver, 600, () => w.api.pods.size === nodes && isNew()) < 600);
  pass(w, driver, 100);
  assert.deepEqual(files(), before);
  assert.equal(granted(w), 0);
  resumes(w);
});

test("delays a requested retry during a pause, reports the halt meanwhile, and retries after the pause", () => {
  const w = servedCluster({ seed: 1, nodes, budget: 2 });
  const isHalted = () => w.api.state.halted && lastView(w).places === 0;
  w.bad.set(500, { silent: false, percent: 100 });
  w.api.a = 500;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 600, isHalted) < 600);
  w.api.paused = true;
  w.bad.delete(500);
  w.api.retry += 1;
  w.truth.retries += 1;
  pass(w, driver, 900);
  assert.deepEqual([having(w, "500.2"), lastView(w).phase, lastView(w).failures], [0, "halted", 1]);
  w.api.paused = false;
  assert.ok(until(w, driver, 600, () => having(w, "500.2") === nodes) < 600);
});

test("during a pause, completes a withdrawal that began before the pause", () => {
  const w = servedCluster({ seed: 1, nodes, budget: 2 });
  w.api.a = w.api.b = 0;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 60, () => w.api.secret?.digest === RELEASE) < 60);
  w.api.paused = true;
  assert.ok(until(w, driver, 900, () => w.api.ds === null) < 900);
  assert.equal(having(w, RELEASE), nodes);
});
