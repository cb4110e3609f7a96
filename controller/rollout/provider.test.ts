/** Waves in mode CredentialProvider, on a cluster in memory: which ones obey the budget. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdmissionError } from "#kube/apply/demands.ts";
import { additionalPath, deployed, text, World } from "./world.fixture.ts";

const registered = { mode: "CredentialProvider", registration: "Agent", scope: "All" } as const;
const annotated = { ...registered, scope: "Annotated" } as const;
const prepared = { ...registered, registration: "Preinstalled" } as const;
const size = 6;

const served = (world: World) => world.state.served;

const budgetOf = (world: World) =>
  world.daemonSet?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? "";

/** The budgets that the DaemonSet had, in order, until the nodes were served what is published. */
async function budgets(world: World, each = () => {}): Promise<(number | string)[]> {
  const seen: (number | string)[] = [];
  const { resourceVersion = "" } = world.daemonSet?.metadata ?? {};
  await world.pass(300, () => {
    each();
    const maxUnavailable = budgetOf(world);
    const changed = world.daemonSet?.metadata?.resourceVersion !== resourceVersion;
    if (changed && seen.at(-1) !== maxUnavailable) seen.push(maxUnavailable);
    const rolled = served(world)?.revision === world.published?.revision;
    return changed && rolled && world.daemonSet?.status?.updatedNumberScheduled === size;
  });
  return seen;
}

test("the first revision registers a kubelet a node, by the budget; a rotation then takes one node first, and all others at once", async () => {
  const world = await deployed(size, registered);
  assert.equal(world.nodes.mostAtOnce, 1);
  assert.equal(served(world)?.registered, "Agent, All");
  world.declare("a:2");
  assert.deepEqual(await budgets(world), [1, "100%", 1]);
  assert.equal(world.having("a:2"), size);
  assert.equal(world.mostBeforeProof, 1);
});

test("prepared nodes are never registered: the first revision, too, goes to all after one", async () => {
  const world = await deployed(size, prepared);
  // The DaemonSet controller takes the second before it is told of the others.
  assert.equal(world.nodes.mostAtOnce, size - 2);
  assert.equal(served(world)?.registered, undefined);
});

test("a mode that is changed is rolled out by the budget, and what follows is spared", async () => {
  const world = await deployed(size);
  world.deliverBy(registered);
  await world.pass(120);
  assert.equal(budgetOf(world), 1);
  assert.equal(served(world)?.registered, "Agent, All");
  world.declare("a:2");
  assert.deepEqual(await budgets(world), [1, "100%", 1]);
  world.deliverBy({ mode: "Restart" });
  world.declare("a:3");
  assert.deepEqual(await budgets(world), [1]);
  assert.equal(served(world)?.registered, undefined);
});

test("a scope that is changed in mid-wave ends what the wave was spared", async () => {
  const world = await deployed(size, registered);
  world.declare("a:2");
  await world.pass(120, () => budgetOf(world) === "100%");
  world.deliverBy(annotated);
  await world.pass(1);
  assert.equal(budgetOf(world), 1);
  await world.pass(120);
  assert.equal(budgetOf(world), 1);
  assert.deepEqual([world.having("a:2"), served(world)?.registered], [size, "Agent, Annotated"]);
});

test("one node that fails halts a rotation, the others keep what they have, and the next is spared again", async () => {
  const world = await deployed(size, registered);
  world.declare("a:2");
  world.bad.add(text("a:2"));
  await world.pass(120, () => world.published?.intent === "hold");
  await world.pass(60);
  assert.equal(world.having("a:1"), size);
  assert.equal(served(world)?.registered, "Agent, All");
  world.declare("a:3");
  assert.deepEqual((await budgets(world)).slice(-3), [1, "100%", 1]);
  assert.equal(world.having("a:3"), size);
});

test("a withdrawal takes the flags out again, by the budget", async () => {
  const world = await deployed(size, registered);
  world.nodes.mostAtOnce = 0;
  world.remove(additionalPath);
  await world.pass(10, () => world.published?.intent === "release");
  await world.pass(60, () => world.nodes.model.nodes.every(({ applied }) => applied === undefined));
  assert.equal(world.nodes.mostAtOnce, 1);
});

test("where somebody's admission takes the agents' flags out, nothing is rolled out or spared", async () => {
  const world = await deployed(size);
  const { generation } = world.daemonSet?.metadata ?? {};
  world.admits = (daemonSet) => {
    const { args = [] } = daemonSet.spec?.template.spec?.containers[0] ?? {};
    args.splice(args.indexOf("--delivery"), args.includes("--delivery") ? 2 : 0);
  };
  world.deliverBy(registered);
  world.declare("a:2");
  await assert.rejects(world.pass(120), AdmissionError);
  assert.equal(world.daemonSet?.metadata?.generation, generation);
  assert.equal(served(world)?.registered, undefined);
});

const askers = [
  ["a pod pulls there", 40, 40],
  ["ten minutes are over without a pull", Number.POSITIVE_INFINITY, 600],
] as const;
for (const [until, pulls, seconds] of askers)
  test(`a registration goes on from its first node when ${until}, and the others wait for nothing`, async () => {
    const world = await World.of(size);
    world.deliverBy(registered);
    world.pulls = pulls;
    world.declare("a:1");
    await world.pass(60, () => world.having("a:1") > 0);
    const begun = world.seconds;
    await world.pass(seconds - 2);
    assert.deepEqual([world.having("a:1"), world.registration], [1, "proving"]);
    assert.match(world.reason, /one node first.*until a pod pulls there, 10 min at most/);
    assert.equal(world.halt, undefined);
    await world.pass(60, () => served(world) !== undefined);
    assert.deepEqual([world.having("a:1"), world.registration], [size, "proved"]);
    assert.ok(world.seconds - begun < seconds + 50, `${world.seconds - begun} s`);
    assert.equal(world.mostBeforeProof, 1);
    world.declare("a:2");
    await world.pass(30, () => world.having("a:2") === size);
    assert.equal(world.having("a:2"), size);
  });

test("an agent that gives up while its kubelet is still to ask halts the rollout at once", async () => {
  const world = await World.of(size);
  world.deliverBy(registered);
  world.pulls = Number.POSITIVE_INFINITY;
  world.bad.add(text("a:1"));
  world.declare("a:1");
  await world.pass(60, () => world.published?.intent === "hold");
  assert.equal(world.halt?.reason, "failed");
});
