/** Steps of a rollout on an API server in memory: the writes, and their order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { contentDigest, formerIn, readPublished } from "#controller/objects/global-secret.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, nodesPolicyPath, owned } from "#kube/client/paths.ts";
import { isFormer, readFormer } from "#pullsecret/merge/former.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { objectPath } from "./objects.ts";
import {
  allReport,
  content,
  deployed,
  isServed,
  nothingLeft,
  firstContent,
  two,
  World,
} from "./world.fixture.ts";

test("publishes first, then writes the agents' rights, then the DaemonSet", async () => {
  const world = await World.of({ a: "proves" });
  const { revision, served, view } = await world.step(firstContent);
  assert.deepEqual([revision, served], [world.now / 1000, 0]);
  assert.deepEqual(world.writes, [
    "global",
    "state",
    "serviceAccount",
    "role",
    "roleBinding",
    "daemonSet",
  ]);
  assert.equal(view?.desired, 1);
});

test("writes the state again before the DaemonSet if someone deleted both", async () => {
  const world = await deployed();
  const lost = ["state", "daemonSet"] as const;
  for (const name of lost) world.delete(owned[name]);
  const { length } = world.writes;
  await world.step(firstContent);
  assert.deepEqual(world.writes.slice(length), lost);
});

test("creates a node's object with its pod, and records the first node before it asks", async () => {
  const world = await World.of({ a: "ignores", b: "ignores", c: "ignores", d: "podless" });
  await world.until(firstContent, () => Object.values(world.asked).some(Boolean));
  assert.deepEqual(world.objects, ["a", "b", "c"]);
  assert.deepEqual(world.writes.slice(-2), ["state", "a"]);
  assert.deepEqual(
    world.state.asked,
    ["a"].map((name) => uidOf(world, name)),
  );
  for (let seconds = 0; seconds < 30; seconds += 1) await world.step(firstContent);
  const { revision } = world.published ?? {};
  assert.deepEqual(world.asked, { a: revision, b: undefined, c: undefined, d: undefined });
  world.nodes.set("a", "proves");
  await world.until(firstContent, () => world.state.proved);
  assert.equal(world.asked["b"], revision);
});

const uidOf = (world: World, name: string): string | undefined =>
  world.api.object<V1Secret>(`${collections.nodes}/${name}`)?.metadata?.uid;

test("serves new nodes nothing until the existing nodes have proved the content, and then writes nothing more", async () => {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  const progress = await world.until(firstContent, ({ ended }) => ended);
  allReport(world, "Proved");
  assert.deepEqual([progress.served, progress.view?.phase], [progress.revision, "done"]);
  assert.equal(progress.available, 3);
  assert.equal(world.state.served, true);
  await world.step(firstContent);
  const { length } = world.writes;
  for (let seconds = 0; seconds < 30; seconds += 1)
    assert.equal((await world.step(firstContent)).ended, false);
  assert.deepEqual(world.writes.slice(length), []);
});

test("writes one order for each node and change, and reads no Node", async () => {
  const world = await deployed();
  const from = world.api.asked.length;
  await world.until(two, isServed);
  const asked = world.api.asked.slice(from).filter(({ userAgent }) => userAgent === fieldManager);
  const patches = asked.filter(({ resource }) => resource.endsWith("nodepullsecrets"));
  assert.deepEqual(
    patches.map(({ verb, name }) => `${verb} ${name}`),
    ["patch a", "patch b", "patch c"],
  );
  assert.deepEqual(
    asked.filter(({ resource }) => resource === "nodes"),
    [],
  );
});

test("sends no request twice, also if it asks nodes and promotes in one decision", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const world = await World.of(Object.fromEntries(names.map((name) => [name, "proves"] as const)));
  for (const wanted of [firstContent, two]) {
    const from = world.api.asked.length;
    await world.until(wanted, isServed);
    for (let seconds = 0; seconds < 30; seconds += 1) await world.step(wanted);
    const orders = world.api.asked
      .slice(from)
      .filter(({ userAgent }) => userAgent === fieldManager)
      .filter(({ verb, resource }) => verb === "patch" && resource.endsWith("nodepullsecrets"));
    assert.deepEqual(
      orders.map(({ name, status }) => `${name} ${status}`).toSorted(),
      names.map((name) => `${name} 200`),
    );
  }
});

test("reports the end of a rollout once, and not after a restart of the controller", async () => {
  const world = await deployed();
  const { ended } = await world.until(two, (progress) => progress.ended);
  assert.equal(ended, true);
  await world.join("d");
  const again = await world.until(two, ({ view }) => view?.current === 4);
  assert.equal(again.ended, false);
  world.restart();
  for (let seconds = 0; seconds < 5; seconds += 1)
    assert.equal((await world.step(two)).ended, false);
});

test("asks nothing, and says so, while the admission policy of the reports is missing", async () => {
  const world = await World.of({ a: "proves" });
  world.delete(nodesPolicyPath);
  for (let seconds = 0; seconds < 30; seconds += 1) {
    const { view, again } = await world.step(firstContent);
    assert.ok(again <= 5, String(again));
    if (seconds > 2) assert.equal(view?.waiting[0]?.reason, "unguarded");
  }
  assert.deepEqual([world.objects, world.asked], [["a"], { a: undefined }]);
});

test("keeps serving older content while it rolls out newer content, and replaces no pod", async () => {
  const world = await deployed();
  const template = world.daemonSet?.metadata?.generation;
  const pods = world.pods.map(({ metadata }) => metadata?.uid);
  const before = world.published?.revision ?? 0;
  const { revision, served } = await world.step(two);
  assert.deepEqual([revision > before, served], [true, before]);
  await world.until(two, isServed);
  allReport(world, "Proved");
  assert.deepEqual(
    world.pods.map(({ metadata }) => metadata?.uid),
    pods,
  );
  assert.equal(world.daemonSet?.metadata?.generation, template);
});

test("takes a removed registry out of the served content, which keeps its revision", async () => {
  const auths = { "quay.io": { auth: btoa("u:1") }, "b.example": { auth: btoa("u:2") } };
  const sources = '{"quay.io":"additional","b.example":"additional"}';
  const both = content("", { document: JSON.stringify({ auths }), sources });
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  await world.until(both, isServed);
  const before = world.published;
  for (const node of world.nodes.keys()) world.nodes.set(node, "ignores");
  await world.step(two);
  const served = world.published?.served ?? "nothing";
  assert.ok(served !== "nothing" && before !== undefined);
  assert.equal(served.revision, before.revision);
  assert.deepEqual(Object.keys(JSON.parse(served.document).auths), ["quay.io"]);
  assert.equal(served.sources, '{"quay.io":"additional"}');
  assert.notEqual(contentDigest(served), contentDigest(before));
});

test("knows every value that has left, also after a later publication, and no value that is present", async () => {
  const contentOf = (auths: Readonly<Record<string, string>>) => {
    const entries = Object.entries(auths).map(([key, auth]) => [key, { auth: btoa(auth) }]);
    const sources = Object.fromEntries(Object.keys(auths).map((key) => [key, "additional"]));
    const document = JSON.stringify({ auths: Object.fromEntries(entries) });
    return content("", { document, sources: JSON.stringify(sources) });
  };
  const world = await World.of({ a: "proves", b: "proves" });
  for (const auths of [
    { "quay.io": "u:1", "b.example": "u:2" },
    { "quay.io": "u:3" },
    { "quay.io": "u:4" },
  ])
    await world.until(contentOf(auths), isServed);
  const former = readFormer(formerIn(world.api.object<V1Secret>(owned.global)));
  for (const [key, auth, isLeft] of [
    ["quay.io", "u:1", true],
    ["b.example", "u:2", true],
    ["quay.io", "u:3", true],
    ["quay.io", "u:4", false],
  ] as const)
    assert.equal(isFormer(former, { key, entry: JSON.stringify({ auth: btoa(auth) }) }), isLeft);
});

test("halts after a failure and keeps what it asked, until a retry", async () => {
  const world = await deployed();
  const { revision: former } = await world.step(firstContent);
  for (const name of world.nodes.keys()) world.nodes.set(name, "fails");
  const { served, view } = await world.until(two, ({ view }) => view?.phase === "halted");
  assert.deepEqual([served, view?.halt], [former, { by: "failed", count: 1 }]);
  for (let seconds = 0; seconds < 60; seconds += 1) await world.step(two);
  const asked = Object.values(world.asked).filter((revision) => revision !== former);
  assert.deepEqual(asked, [world.published?.revision]);
  for (const name of world.nodes.keys()) world.nodes.set(name, "proves");
  Object.assign(world.remover, { retry: "1" });
  await world.until(two, isServed);
  assert.deepEqual([world.state.retry, world.state.failed], ["1", []]);
});

test("stays halted when a request for a retry is removed and added again", async () => {
  const world = await deployed();
  const ask = (retry: string): void => void Object.assign(world.remover, { retry });
  const phaseOf = async () => (await world.step(two)).view?.phase;
  ask("object");
  for (const name of world.nodes.keys()) world.nodes.set(name, "fails");
  await world.until(two, ({ view }) => view?.phase === "halted");
  ask("");
  assert.equal(await phaseOf(), "halted");
  ask("object");
  assert.equal(await phaseOf(), "halted");
  ask("another");
  assert.notEqual(await phaseOf(), "halted");
});

test("empties the served slot at once in a withdrawal, and completes the withdrawal when every node has confirmed", async () => {
  const world = await deployed();
  const first = await world.step(nothingLeft);
  assert.deepEqual([first.intent, first.served, first.leftBehind], ["release", 0, undefined]);
  const last = await world.until(nothingLeft, ({ leftBehind }) => leftBehind !== undefined);
  assert.deepEqual(last.leftBehind, []);
  allReport(world, "Removed");
});

test("begins a withdrawal at once during a rollout, whatever the first node does", async () => {
  const world = await deployed();
  world.nodes.set("a", "ignores");
  await world.step(two);
  await world.step(two);
  const before = world.published?.revision ?? 0;
  const { intent, revision } = await world.step(nothingLeft);
  assert.deepEqual([intent, revision > before], ["release", true]);
});

test("recreates a DaemonSet that someone deleted during a withdrawal, and does not report the withdrawal as complete", async () => {
  const world = await deployed();
  world.nodes.set("a", "ignores");
  await world.step(nothingLeft);
  world.delete(owned.daemonSet);
  const { leftBehind } = await world.step(nothingLeft);
  assert.equal(leftBehind, undefined);
  assert.ok(world.daemonSet);
  world.nodes.set("a", "proves");
  const last = await world.until(nothingLeft, (progress) => progress.leftBehind !== undefined);
  assert.deepEqual(last.leftBehind, []);
  allReport(world, "Removed");
});

const planted: readonly (readonly [what: string, time: string | null])[] = [
  ["lies in the future", "2999-01-01T00:00:00Z"],
  ["is not a time", "soon"],
  ["is missing", null],
];
for (const [what, time] of planted)
  test(`forgets a node that stays away even if the time of the publication ${what}`, async () => {
    const world = await deployed();
    world.nodes.set("b", "away");
    await world.step(nothingLeft);
    world.edit(owned.global, {
      metadata: { annotations: { "globalpullsecret.io/published": time } },
    });
    world.seconds += 600;
    const { leftBehind } = await world.step(nothingLeft);
    assert.equal(leftBehind, undefined, "a wait of an hour ended at once");
    world.seconds += 3601;
    assert.deepEqual((await world.step(nothingLeft)).leftBehind, ["b"]);
  });

test("publishes a higher revision when someone edited the Secret, even without our label", async () => {
  const world = await deployed();
  const { revision: before } = await world.step(two);
  const { length } = world.writes;
  world.edit(owned.global, {
    metadata: { labels: { "app.kubernetes.io/managed-by": null } },
    data: { "served.revision": btoa("1"), "served..dockerconfigjson": btoa("{}") },
  });
  await world.step(two);
  assert.ok(world.writes.slice(length).includes("global"));
  const { revision = 0, document, served, mode, intent } = world.published ?? {};
  assert.ok(revision > before, String(revision));
  assert.deepEqual([document, served, mode, intent], [two.document, "nothing", "Restart", "apply"]);
  await world.until(two, isServed);
});

for (const [what, harm] of [
  ["deleted", (world: World) => world.delete(owned.global)],
  ["edited", (world: World) => world.edit(owned.global, { data: { revision: btoa("7") } })],
] as const)
  test(`publishes only unchanged content during a pause when someone ${what} the Secret`, async () => {
    const world = await deployed();
    const policy = { ...world.remover.policy, managementState: "Paused" as const };
    Object.assign(world.remover, { policy });
    harm(world);
    const { length } = world.writes;
    const { view } = await world.step(two);
    assert.deepEqual([view?.pending, world.writes.slice(length)], ["paused", []]);
    await world.step(firstContent);
    const { revision = 0, document } = world.published ?? {};
    assert.deepEqual([revision > 1, document], [true, firstContent.document]);
    assert.equal((await world.step(two)).revision, revision);
  });

test("repairs the agents' rights and the DaemonSet when others changed them, and replaces no pod", async () => {
  const world = await deployed();
  const pods = world.pods.map(({ metadata }) => metadata?.uid);
  world.delete(owned.role);
  world.edit(owned.daemonSet, { spec: { minReadySeconds: 9 } });
  await world.step(firstContent);
  assert.ok(world.api.object(owned.role));
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 30);
  await world.until(firstContent, isServed);
  assert.deepEqual(
    world.pods.map(({ metadata }) => metadata?.uid),
    pods,
  );
});

test("asks nothing when the first node cannot be recorded", async () => {
  const world = await World.of({ a: "proves", b: "proves" });
  await world.step(firstContent);
  world.api.refuses = ({ path }, verb) =>
    verb !== "get" && path.startsWith(owned.state) ? refuse(409, "Conflict", "changed") : undefined;
  for (let seconds = 0; seconds < 10; seconds += 1)
    await world.step(firstContent).catch(({ status }) => assert.equal(status, 409));
  assert.deepEqual(world.asked, { a: undefined, b: undefined });
});

/** The parts of the final state that must not depend on when the controller was killed. */
function endOf(world: World): object {
  const { document, intent, served, mode } = world.published ?? {};
  const isServed = served !== "nothing" && served?.document === document;
  const templates = world.pods.map(
    ({ metadata }) => metadata?.annotations?.["globalpullsecret.io/template"],
  );
  const { proved, asked, failed, lost } = world.state;
  const reports = new Set(Object.values(world.reports)).size;
  return { document, intent, mode, isServed, templates, reports, proved, asked, failed, lost };
}

test("reaches the same end when the controller is killed before any write of two rollouts", async () => {
  const straight = await deployed();
  await straight.until(two, isServed);
  const count = straight.writes.length;
  for (let at = 0; at < count; at += 1) {
    const world = await World.of({ a: "proves", b: "proves", c: "proves" });
    await killedAt(world, at);
    assert.deepEqual(endOf(world), endOf(straight), `killed before write ${at} of ${count}`);
  }
});

/** Rolls out two contents, and kills the controller before its nth write, counted from 0. */
async function killedAt(world: World, at: number): Promise<void> {
  let isDead = false;
  world.api.refuses = ({ userAgent, query }, verb) => {
    if (userAgent !== fieldManager) return undefined;
    const isWrite = !["get", "list"].includes(verb) && query?.["dryRun"] === undefined;
    isDead ||= isWrite && world.writes.length === at;
    return isDead ? refuse(503, "ServiceUnavailable", "no node has to confirm") : undefined;
  };
  for (const target of [firstContent, two])
    await world.until(target, isServed).catch(async (error: unknown) => {
      if (!isDead) throw error;
      world.api.refuses = () => undefined;
      world.restart();
      await world.until(target, isServed);
    });
  assert.ok(isDead);
}

test("reads back the Secret that it wrote last", async () => {
  const world = await deployed();
  const { global } = await world.step(two);
  assert.deepEqual(readPublished(global), world.published);
});

test("promotes content without waiting for a node that is unreachable, and asks it when it returns", async () => {
  const world = await deployed();
  world.nodes.set("b", "away");
  const { view } = await world.until(two, ({ served, revision }) => served === revision);
  assert.deepEqual(
    view?.waiting.map(({ node, reason }) => [node, reason]),
    [["b", "unreachable"]],
  );
  world.nodes.set("b", "proves");
  await world.until(two, isServed);
  allReport(world, "Proved");
});

test("completes a withdrawal as soon as an unreachable node returns", async () => {
  const world = await deployed();
  world.nodes.set("b", "away");
  await world.until(nothingLeft, ({ view }) => view?.waiting[0]?.reason === "unreachable");
  world.nodes.set("b", "proves");
  const from = world.seconds;
  await world.until(nothingLeft, ({ leftBehind }) => leftBehind?.length === 0);
  assert.ok(world.seconds - from < 10, `${world.seconds - from} s`);
});

test("counts a node that disappears before it answers as lost, even after a restart of the controller", async () => {
  const world = await World.of({ a: "ignores", b: "proves", c: "proves" });
  await world.until(firstContent, () => world.asked["a"] !== undefined);
  const uid = uidOf(world, "a");
  world.leave("a");
  world.restart();
  await world.until(firstContent, () => world.state.lost.length > 0);
  assert.deepEqual(world.state.lost, [uid]);
  await world.until(firstContent, isServed);
});

test("records and deletes the order of a former Node, and gives the new Node an object of its own", async () => {
  const world = await World.of({ a: "ignores", b: "proves", c: "proves" });
  await world.until(firstContent, () => world.asked["a"] !== undefined);
  const former = uidOf(world, "a");
  world.delete(`${collections.nodes}/a`);
  await world.join("a", "ignores");
  const { length } = world.writes;
  await world.step(firstContent);
  assert.deepEqual(world.writes.slice(length, length + 2), ["state", "-a"]);
  assert.deepEqual(world.state.lost, [former]);
  await world.step(firstContent);
  const { nodeUid, order } = world.object("a") ?? {};
  assert.deepEqual([nodeUid, order], [uidOf(world, "a"), undefined]);
});

test("keeps the object of a Node that was deleted out of the window", async () => {
  const world = await deployed();
  world.delete(`${collections.nodes}/b`);
  const { view } = await world.until(two, isServed);
  assert.equal(view?.desired, 2);
  assert.ok(world.api.object(objectPath("b")), "Kubernetes deletes it, not the controller");
});
