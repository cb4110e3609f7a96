/**
 * Removal step by step on an API server in memory. The existing objects and the nodes' answers
 * decide each step.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { readPublished } from "#controller/objects/global-secret.ts";
import { readState, stateSecret } from "#controller/objects/state.ts";
import { policyWith } from "#controller/policy/policy.fixture.ts";
import { content, isServed, World, type Behaviour } from "#controller/rollout/world.fixture.ts";
import { keepPod, objectPath } from "#controller/rollout/objects.ts";
import { additionalInput } from "#controller/sources/input.ts";
import { observe } from "#controller/sources/snapshot.ts";
import { stateManager } from "#kube/client/ownership.ts";
import { owned, type OwnedName } from "#kube/client/paths.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { deletesNext, leftBehindIn, remove } from "./remove.ts";
import type { Removal } from "./withdrawal.ts";

const deployedContent = content("u:1");
const before = ["daemonSet", "roleBinding", "role", "serviceAccount"];
/** The deletions when each of these nodes has confirmed. */
const everything = (...nodes: readonly string[]) => [...before, ...nodes, "global", "state"];

/**
 * One run of the controller after additional-pull-secret was deleted. `foreign`: the name of an
 * object that someone else created.
 */
async function run(world: World, foreign?: OwnedName): Promise<Removal> {
  await world.show();
  let snapshot = await observe(world.cluster, undefined);
  const object = foreign && snapshot[foreign];
  if (object?.metadata !== undefined) {
    const { labels: _, managedFields: __, ...metadata } = object.metadata;
    snapshot = { ...snapshot, [foreign as OwnedName]: { ...object, metadata } };
  }
  const remembered = {
    published: readPublished(snapshot.global),
    state: readState(snapshot.state),
  };
  const sources = { inputs: [additionalInput("absent")], ...remembered };
  return remove(world.remover, snapshot, sources);
}

async function runs(world: World, count: number): Promise<Removal> {
  let last = await run(world);
  for (let round = 1; round < count; round += 1) last = await run(world);
  return last;
}

/**
 * Returns a cluster in which all nodes have the credential. From then on, the nodes behave as
 * `nodes` describes.
 */
async function deployed(nodes: Readonly<Record<string, Behaviour>>): Promise<World> {
  const names = Object.keys(nodes).map((name) => [name, "proves"] as const);
  const world = await World.of(Object.fromEntries(names));
  const accepted = { additional: deployedContent.document };
  const empty = stateSecret({ ...readState(undefined), accepted });
  await world.cluster.apply(owned.state, empty, { manager: stateManager, force: true });
  await world.until(deployedContent, isServed);
  for (const [name, does] of Object.entries(nodes)) world.nodes.set(name, does);
  return world;
}

/** The deleted objects, in order. */
const deletedOf = ({ writes }: World): string[] =>
  writes.filter((name) => name.startsWith("-")).map((name) => name.slice(1));

/** Deletes the pod of a node that should run an agent, and lets the node create no other pod. */
async function podless(world: World, name: string): Promise<void> {
  world.nodes.set(name, "podless");
  await world.show();
}

test("deletes the objects in their order when every node has confirmed", async () => {
  const world = await deployed({ a: "proves", b: "proves" });
  await runs(world, 10);
  assert.deepEqual(deletedOf(world), everything("a", "b"));
  assert.equal(deletesNext(await observe(world.cluster, undefined)), false);
});

for (const name of ["role", "roleBinding", "serviceAccount"] as const)
  test(`keeps a ${name} of someone else under our name, and deletes the other objects`, async () => {
    const world = await deployed({ a: "proves" });
    for (let round = 0; round < 10; round += 1) await run(world, name);
    const others = everything("a").filter((deleted) => deleted !== name);
    assert.deepEqual(deletedOf(world), others);
    const left = await observe(world.cluster, undefined);
    assert.equal(deletesNext({ ...left, [name]: { metadata: { name } } }), false);
  });

test("keeps the DaemonSet for a node without a pod, names the node, and publishes no credential", async () => {
  const world = await deployed({ a: "proves", b: "proves" });
  await podless(world, "b");
  const began = world.now;
  const { awaited } = await runs(world, 100);
  assert.deepEqual(awaited?.names, ["b"]);
  assert.equal(deletesNext(await observe(world.cluster, undefined)), false);
  const until = Date.parse(awaited.until);
  assert.ok(until >= began + 3_600_000 && until <= began + 3_605_000, awaited.until);
  assert.deepEqual(deletedOf(world), []);
  for (const value of Object.values(world.api.object<V1Secret>(owned.global)?.data ?? {}))
    assert.ok(!atob(value).includes(btoa("u:1")));
  world.nodes.set("b", "proves");
  await runs(world, 10);
  assert.deepEqual(deletedOf(world), everything("a", "b"));
});

test("reports no awaited node before the pods have been read", async () => {
  const world = await deployed({ a: "ignores" });
  await run(world);
  Object.assign(world.remover, { pods: new CollectionInformer(keepPod) });
  const { step, releasing, awaited } = await run(world);
  assert.deepEqual([step, releasing, awaited], ["release", true, undefined]);
});

test("stops waiting for a node that is deleted, but still waits for another node without a pod", async () => {
  const world = await deployed({ a: "proves", b: "proves", c: "proves" });
  await podless(world, "b");
  await podless(world, "c");
  assert.deepEqual((await runs(world, 100)).awaited?.names, ["b", "c"]);
  world.leave("b");
  assert.deepEqual((await runs(world, 100)).awaited?.names, ["c"]);
  world.leave("c");
  await runs(world, 100);
  assert.deepEqual(deletedOf(world), everything("a"));
});

test("after forgetAfter, stops waiting for nodes that stay away, names them, and keeps their objects", async () => {
  const world = await deployed({ a: "proves", b: "proves" });
  await podless(world, "b");
  await runs(world, 100);
  world.seconds += 3600;
  const { released, leftBehind } = await run(world);
  assert.deepEqual([released, leftBehind], [true, ["b"]]);
  assert.deepEqual(leftBehindIn(world.remover), ["b"]);
  await runs(world, 4);
  assert.deepEqual(deletedOf(world), everything("a"));
  await world.show();
  assert.deepEqual([world.objects, leftBehindIn(world.remover)], [["b"], ["b"]]);
  // A person dismisses the node.
  world.delete(objectPath("b"));
  await world.show();
  assert.deepEqual(leftBehindIn(world.remover), []);
});

test("after forgetAfter, also names an existing node that has not confirmed", async () => {
  const world = await deployed({ a: "proves", b: "ignores" });
  const policy = policyWith({ maxUnavailable: 1 }, { forgetAfterSeconds: 60 });
  Object.assign(world.remover, { policy });
  await runs(world, 10);
  world.seconds += 60;
  const { released, leftBehind } = await run(world);
  assert.deepEqual([released, leftBehind], [true, ["b"]]);
});

test("waits for a node that does not confirm, and names it after the deadline", async () => {
  const world = await deployed({ a: "proves", b: "ignores" });
  const first = await runs(world, 10);
  assert.equal(first.overdue, undefined);
  Object.assign(world.remover, { unchangedSeconds: () => 600 });
  const { overdue } = await run(world);
  assert.deepEqual(overdue, { waiting: ["b"], seconds: 600 });
  assert.deepEqual(deletedOf(world), []);
});

test("counts the deadline from the last progress, so that nodes that confirm one by one are never overdue", async () => {
  const world = await deployed({ a: "ignores", b: "ignores", c: "ignores" });
  const times = { forgetAfterSeconds: 3600, deadlineSeconds: 60 };
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: "100%" }, times) });
  await runs(world, 4);
  for (const name of ["a", "b"]) {
    world.seconds += 50;
    world.nodes.set(name, "proves");
    assert.equal((await run(world)).overdue, undefined, name);
  }
  world.seconds += 60;
  assert.deepEqual((await run(world)).overdue, { waiting: ["c"], seconds: 60 });
});

test("waits for an agent's pod that does not end, and deletes the other objects after the deadline", async () => {
  const world = await deployed({ a: "proves" });
  const { seconds } = world;
  world.stuck.add("a");
  const { step } = await runs(world, 10);
  assert.equal(step, "await agents");
  assert.deepEqual(deletedOf(world), ["daemonSet"]);
  world.seconds = seconds + 210;
  assert.deepEqual((await run(world)).again, { seconds: 30 });
  world.seconds += 600;
  assert.equal((await run(world)).abandoned, 1);
  assert.deepEqual(deletedOf(world), everything("a"));
});

test("does not wait for the end of a pod on an unreachable node", async () => {
  const world = await deployed({ a: "proves", b: "proves" });
  await runs(world, 3);
  world.stuck.add("b");
  world.nodes.set("b", "away");
  const last = await runs(world, 10);
  assert.equal(last.abandoned, 0);
  assert.deepEqual(deletedOf(world), everything("a", "b"));
});

for (const collection of ["pods", "objects"] as const)
  test(`deletes only the DaemonSet while the ${collection} cannot be read`, async () => {
    const world = await deployed({ a: "proves" });
    while (deletedOf(world).length === 0) await run(world);
    for (let seconds = 0; seconds < 5; seconds += 1) {
      await world.show();
      world.informers[collection].lost();
      const snapshot = await observe(world.cluster, undefined);
      const published = readPublished(snapshot.global);
      const sources = { inputs: [], published, state: readState(snapshot.state) };
      await remove(world.remover, snapshot, sources);
    }
    assert.deepEqual(deletedOf(world), ["daemonSet"]);
    await runs(world, 3);
    assert.deepEqual(deletedOf(world), everything("a"));
  });

test("decides again when an agent reports while its object is being deleted", async () => {
  const world = await deployed({ a: "proves" });
  while (deletedOf(world).length === 0) await run(world);
  await world.show();
  const snapshot = await observe(world.cluster, undefined);
  const sources = { inputs: [], published: undefined, state: readState(snapshot.state) };
  world.edit(`${objectPath("a")}/status`, { status: { message: "later" } });
  await assert.rejects(remove(world.remover, snapshot, sources), { status: 409 });
  assert.deepEqual(world.objects, ["a"]);
  await runs(world, 3);
  assert.deepEqual(deletedOf(world), everything("a"));
});

const losses: readonly (readonly [what: string, lost: readonly string[]])[] = [
  ["the DaemonSet", [owned.daemonSet]],
  ["the Secret", [owned.global]],
  ["the DaemonSet and the Secret", [owned.daemonSet, owned.global]],
  ["all but the state", Object.values(owned).filter((path) => path !== owned.state)],
];
for (const [what, lost] of losses)
  test(`H21: still waits for the nodes when someone deleted ${what} before the withdrawal`, async () => {
    const world = await deployed({ a: "ignores", b: "ignores" });
    for (const path of lost) world.delete(path);
    await runs(world, 1);
    assert.equal(world.published?.intent, "release");
    assert.ok(world.daemonSet, "no agent can confirm");
    const { released } = await runs(world, 1);
    assert.equal(released, false);
    for (const name of world.nodes.keys()) world.nodes.set(name, "proves");
    for (let seconds = 0; seconds < 60 && deletedOf(world).length === 0; seconds += 1)
      await run(world);
    const confirmed = `Removed ${world.published?.revision}`;
    assert.deepEqual(world.reports, { a: confirmed, b: confirmed });
    await runs(world, 10);
    assert.deepEqual(deletedOf(world), everything("a", "b"));
  });

test("deletes the state at once when no other object exists and the state records no rollout", async () => {
  const world = await World.of({ a: "proves" });
  const state = stateSecret({
    ...readState(undefined),
    accepted: { additional: deployedContent.document },
  });
  await world.cluster.apply(owned.state, state, { manager: stateManager, force: true });
  await run(world);
  assert.deepEqual(deletedOf(world), ["state"]);
});

test("deletes everything at once when no node was ever asked for anything", async () => {
  const world = await World.of({ a: "podless", b: "podless" });
  for (let steps = 0; steps < 100; steps += 1) await world.step(deployedContent);
  assert.notEqual(world.daemonSet, undefined);
  await runs(world, 5);
  assert.deepEqual(deletedOf(world), everything());
});

test("waits for a node that was asked, even if its pod is gone and the controller has restarted", async () => {
  const world = await World.of({ a: "ignores", b: "podless" });
  await world.until(deployedContent, () => world.asked["a"] !== undefined);
  await podless(world, "a");
  world.restart();
  const { awaited } = await runs(world, 100);
  assert.deepEqual(awaited?.names.includes("a"), true);
  assert.deepEqual(deletedOf(world), []);
});

test("completes a release at once if an agent becomes unreachable after its confirmation", async () => {
  const world = await deployed({ a: "proves", b: "ignores" });
  for (let current = 0; current < 1;) current = (await run(world)).progress?.view?.current ?? 0;
  world.nodes.set("a", "away");
  await run(world);
  assert.deepEqual(deletedOf(world), []);
  world.nodes.set("b", "proves");
  const from = world.seconds;
  while (deletedOf(world).length === 0 && world.seconds < from + 200) await run(world);
  assert.ok(world.seconds - from <= 5, `${world.seconds - from} s`);
});
