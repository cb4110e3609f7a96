import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import type { PublishedMode } from "#contract/names.ts";
import { agent } from "#controller/objects/agent.fixture.ts";
import { globalSecret, newSalt } from "#controller/objects/global-secret.ts";
import { kubeletDirectoryOf } from "#controller/objects/container.ts";
import { readState, writeState } from "#controller/objects/state.ts";
import { observe } from "#controller/sources/snapshot.ts";
import { owned } from "#kube/client/paths.ts";
import { keptDirectory, directoryRecord } from "./directory.ts";
import { noMemory, type PodRecord } from "./facts.ts";
import type { AgentPod } from "./pods.ts";
import { deployed, isServed, nothingLeft, one, two, World } from "./world.fixture.ts";

const old = agent.kubeletDirectory;
const other = "/data/kubelet";

/**
 * The directory that the agents keep when the installer names another directory. Undefined: the
 * agents move to the installer's directory.
 */
const keptIn = async ({ cluster, remover }: World) =>
  keptDirectory(await observe(cluster, undefined), remover.pods.view.items.values(), other);

const recorded = (world: World) => readState(world.api.object<V1Secret>(owned.state)).directory;

/** Whether this number of agents have refused a grant. */
const isRefused = ({ remover }: World, count = 1) =>
  [...remover.pods.view.items.values()].filter(
    ({ terminationMessage: reported }) => reported?.kind === "unfit",
  ).length === count;

function use(world: World, changes: Partial<typeof agent>): void {
  Object.assign(world.remover, { agent: { ...world.remover.agent, ...changes } });
}

const deliveries = {
  Restart: { mode: "Restart" },
  Reread: { mode: "Reread" },
  CredentialProvider: { mode: "CredentialProvider", scope: "All" },
  CredentialProviderAnnotated: { mode: "CredentialProvider", scope: "Annotated" },
} as const satisfies Record<PublishedMode, (typeof agent)["delivery"]>;

test("records the directory with the first grant, and not earlier", async () => {
  const world = await World.of({});
  for (let seconds = 0; seconds < 5; seconds += 1) await world.step(one);
  assert.deepEqual([recorded(world), await keptIn(world)], [undefined, undefined]);
  await world.join("a", "ignores");
  await world.until(one, () => world.granted["a"] === 1);
  assert.deepEqual([recorded(world), await keptIn(world)], [old, old]);
  const { writes } = world;
  assert.ok(writes.lastIndexOf("state") < writes.indexOf("pod-of-a"), writes.join());
});

const newest = {
  document: "{}",
  sources: "{}",
  intent: "apply",
  revision: 3,
  salt: newSalt(),
} as const;
const published = globalSecret({ newest, mode: "Restart", served: "nothing", publishedAt: 1 });
const key = { digest: "d", since: "s" };
for (const [what, found, isProved, isTaken] of [
  ["reports that it proved the revision", { kind: "proved", revision: 3 }, false, true],
  ["reports that it failed with the revision", { kind: "failed", revision: 3 }, false, true],
  ["refused the revision", { kind: "unfit", revision: 3 }, false, false],
  ["reports that it proved another revision", { kind: "proved", revision: 2 }, false, false],
  ["is Ready with the revision", { revision: 3 }, true, true],
  ["is Ready with another revision", { revision: 2 }, true, false],
] as const)
  test(`records ${isTaken ? "the directory" : "nothing"} if there is no record yet and an agent ${what}`, () => {
    const { revision, ...reported } = found;
    const terminationMessage =
      "kind" in reported ? { ...reported, ...key, revision, journal: 0 } : undefined;
    const grant = { ...key, revision, word: !isProved };
    const pod = { uid: "p", directory: old, grant, terminationMessage } as AgentPod;
    const record = { provedAt: isProved ? 1 : undefined } as PodRecord;
    const memory = { ...noMemory, pods: new Map([["p", record]]) };
    const objects = { global: published, state: undefined, daemonSet: undefined };
    const seen = { pods: [pod], memory, granted: [], wanted: old };
    const expected = isTaken ? old : undefined;
    assert.deepEqual(directoryRecord(objects, seen), {
      directory: expected,
      directoryOf: undefined,
    });
  });

test("keeps the directory of a first node that dies before it has proved anything", async () => {
  const world = await World.of({ a: "ignores" });
  const { policy } = world.remover;
  Object.assign(world.remover, {
    policy: { ...policy, rollout: { ...policy.rollout, maxFailures: 1 } },
  });
  await world.until(one, () => world.granted["a"] === 1);
  world.leave("a");
  await world.join("b", "elsewhere");
  await world.until(one, () => isRefused(world));
  for (let seconds = 0; seconds < 5; seconds += 1) await world.step(one);
  assert.equal(recorded(world), old);
});

test("forgets the directory when the agent refuses the first grant because of this directory", async () => {
  const world = await World.of({ a: "elsewhere", b: "podless" });
  await world.until(one, () => isRefused(world));
  await world.step(one);
  assert.deepEqual([recorded(world), await keptIn(world)], ["", undefined]);
  world.leave("a");
  world.nodes.set("b", "proves");
  await world.until(one, isServed);
  assert.equal(recorded(world), old);
});

for (const [what, b, expected] of [
  [
    "forgets the recorded directory when all nodes with a grant refuse this directory",
    "elsewhere",
    "",
  ],
  [
    "keeps the recorded directory when one of the nodes that were granted content dies",
    "ignores",
    old,
  ],
] as const)
  test(`${what}, without a canary`, async () => {
    const world = await World.of({ a: "elsewhere", b, c: "podless" });
    const { policy } = world.remover;
    const rollout = { ...policy.rollout, maxUnavailable: "100%" };
    Object.assign(world.remover, { policy: { ...policy, rollout } });
    await world.until(one, () => isRefused(world, b === "elsewhere" ? 2 : 1));
    if (b === "ignores") {
      assert.equal(world.granted["b"], 1);
      world.leave("b");
    }
    for (let seconds = 0; seconds < 5; seconds += 1) await world.step(one);
    assert.equal(recorded(world), expected);
  });

test("moves to the installer's directory when every agent reports the recorded directory as wrong", async () => {
  const world = await deployed();
  for (const name of ["a", "b", "c"]) world.leave(name);
  for (const name of ["d", "e"]) await world.join(name, "elsewhere");
  await world.until(one, () => world.pods.length === 2 && isRefused(world, 1));
  assert.equal(await keptIn(world), old);
  await world.until(one, () => isRefused(world, 2));
  assert.equal(await keptIn(world), undefined);
  assert.equal(recorded(world), old);
  use(world, { kubeletDirectory: other });
  await world.until(one, (progress) => isServed(progress) && progress.view?.counts.current === 2);
  assert.deepEqual(
    [recorded(world), kubeletDirectoryOf(world.daemonSet?.spec?.template.spec)],
    [other, other],
  );
});

test("keeps the agents in the directory while one node might have entries there", async () => {
  const world = await World.of({ a: "proves", b: "elsewhere" });
  await world.until(one, () => recorded(world) === old && isRefused(world));
  assert.equal(await keptIn(world), old);
  // The node still exists, but its pod does not.
  world.nodes.set("a", "podless");
  for (let seconds = 0; seconds < 3; seconds += 1) await world.step(one);
  assert.equal(await keptIn(world), old);
});

for (const synced of [true, false])
  test(`records the directory of an older installation before a withdrawal, ${synced ? "with" : "without"} known pods`, async () => {
    const world = await deployed();
    const state = world.api.object<V1Secret>(owned.state);
    await writeState(world.cluster, state, { ...readState(state), directory: undefined });
    world.restart();
    const { pods } = world.remover;
    const view = { ...pods.view, synced };
    Object.assign(world.remover, { pods: { view, wrote: () => {} } });
    await world.step(nothingLeft);
    assert.deepEqual([world.published?.intent, recorded(world)], ["release", old]);
  });

test("keeps the directory during a withdrawal when someone deletes the state", async () => {
  const world = await deployed();
  for (const node of world.nodes.keys()) world.nodes.set(node, "ignores");
  await world.until(nothingLeft, ({ intent }) => intent === "release");
  world.delete(owned.state);
  assert.equal(await keptIn(world), old);
});

test("records the directory of a node that proves content without a canary", async () => {
  const world = await World.of({ a: "proves", b: "ignores", c: "ignores" });
  const { policy } = world.remover;
  const rollout = { ...policy.rollout, maxUnavailable: "100%" };
  Object.assign(world.remover, { policy: { ...policy, rollout } });
  const { served } = await world.until(one, () => recorded(world) !== undefined);
  assert.deepEqual([served, recorded(world)], [0, old]);
});

test("records the directory of a node where content has failed", async () => {
  const world = await World.of({ a: "fails" });
  await world.until(one, ({ view }) => (view?.failures ?? 0) > 0);
  await world.step(one);
  assert.equal(recorded(world), old);
});

test("records the directory of the pod that proves content, not the directory that the installer names", async () => {
  const world = await World.of({ a: "ignores" });
  await world.until(one, () => world.granted["a"] === 1);
  use(world, { kubeletDirectory: other });
  await world.step(one);
  assert.equal(kubeletDirectoryOf(world.daemonSet?.spec?.template.spec), other);
  world.nodes.set("a", "proves");
  await world.until(one, () => recorded(world) !== undefined);
  assert.equal(recorded(world), old);
});

for (const [from, to] of [
  ["Restart", "Reread"],
  ["Reread", "Restart"],
  ["Restart", "CredentialProvider"],
  ["CredentialProvider", "CredentialProviderAnnotated"],
  ["CredentialProviderAnnotated", "CredentialProvider"],
  ["CredentialProvider", "Reread"],
] as const)
  test(`keeps the directory when the mode changes from ${from} to ${to}, before any node has proved the new mode`, async () => {
    const world = await World.of({ a: "proves", b: "proves" });
    use(world, { delivery: deliveries[from] });
    await world.until(one, isServed);
    for (const node of ["a", "b"]) world.nodes.set(node, "ignores");
    use(world, { delivery: deliveries[to] });
    const { state, served } = await world.until(one, ({ revision }) => revision > 1);
    assert.deepEqual([state.word, served, world.published?.mode], [false, 0, to]);
    assert.equal(await keptIn(world), old);
  });

for (const [what, lose] of Object.entries({
  "the DaemonSet": (world: World) => world.delete(owned.daemonSet),
  "the Secret": (world: World) => world.delete(owned.global),
}))
  test(`keeps the directory when someone deletes ${what}`, async () => {
    const world = await deployed();
    lose(world);
    assert.equal(await keptIn(world), old);
  });

test("keeps the directory during a rollout and a withdrawal, and forgets it after the withdrawal", async () => {
  const world = await deployed();
  await world.until(two, isServed);
  assert.equal(await keptIn(world), old);
  for (const node of world.nodes.keys()) world.nodes.set(node, "ignores");
  await world.until(nothingLeft, ({ intent }) => intent === "release");
  assert.equal(await keptIn(world), old);
});

test("keeps the directory during a withdrawal if an agent never answered its grant", async () => {
  const world = await World.of({ a: "ignores" });
  await world.until(one, () => world.granted["a"] === 1);
  await world.until(nothingLeft, ({ intent }) => intent === "release");
  assert.equal(await keptIn(world), old);
  world.nodes.set("a", "proves");
  await world.until(nothingLeft, ({ completed }) => completed !== undefined);
  assert.equal(recorded(world), old);
});

test("records the current directory if an older controller recorded none", async () => {
  const world = await deployed();
  const state = world.api.object<V1Secret>(owned.state);
  const known = { ...readState(state), directory: undefined };
  await writeState(world.cluster, state, known);
  assert.equal(await keptIn(world), old);
  await world.step(one);
  assert.equal(recorded(world), old);
});
