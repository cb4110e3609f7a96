/**
 * Steps of a rollout while the controller cannot see the pods, the NodePullSecrets or the Nodes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WantedContent } from "#controller/sources/accept.ts";
import { observe } from "#controller/sources/snapshot.ts";
import { takeStep, type Progress } from "./step.ts";
import { deployed, firstContent, nothingLeft, two, World } from "./world.fixture.ts";

/**
 * Takes a step while the controller cannot see one of the collections: the API server has ended the
 * watch, and the controller lists the objects again.
 */
async function unseen(
  world: World,
  target: WantedContent,
  collection: keyof World["informers"] = "pods",
): Promise<Progress> {
  world.informers[collection].lost();
  return takeStep(world.remover, await observe(world.cluster, undefined), target);
}

for (const collection of ["pods", "objects", "nodes"] as const)
  test(`asks nothing and promotes nothing while it lists the ${collection} again, but publishes`, async () => {
    const world = await deployed();
    const { view, nodes } = await world.step(firstContent);
    const during = await unseen(world, firstContent, collection);
    assert.deepEqual([during.view, during.nodes], [view, nodes], "the last known state");
    const { asked } = world;
    const before = world.published?.revision ?? 0;
    for (let steps = 0; steps < 3; steps += 1) await unseen(world, two, collection);
    assert.deepEqual([world.published?.document, world.asked], [two.document, asked]);
    const { revision, served } = world.published ?? {};
    assert.ok((revision ?? 0) > before && served !== "nothing" && served?.revision === before);
    const { intent, leftBehind } = await unseen(world, nothingLeft, collection);
    assert.deepEqual([intent, leftBehind], ["release", undefined]);
  });

test("publishes before it has seen any node, and counts no asked node as lost", async () => {
  const world = await World.of({ a: "ignores", b: "ignores" });
  await world.until(firstContent, () => world.asked["a"] !== undefined);
  const { informers, ...other } = await World.of({});
  Object.assign(world.remover, informers, { repairs: other.remover.repairs });
  const snapshot = await observe(world.cluster, undefined);
  const first = await takeStep(world.remover, snapshot, firstContent);
  assert.deepEqual([first.view, first.nodes, world.state.lost], [undefined, [], []]);
  assert.equal(world.state.asked.length, 1);
  const second = await takeStep(world.remover, snapshot, two);
  assert.ok(second.revision > first.revision);
});

test("reports why the controller cannot watch the pods, the objects or the Nodes", async () => {
  const world = await deployed();
  for (const collection of ["pods", "objects", "nodes"] as const) {
    const failure = new Error(`may not watch ${collection}`);
    world.informers[collection].failed(failure);
    assert.equal((await unseen(world, firstContent, collection)).failure, failure);
    world.informers[collection].alive();
  }
});
