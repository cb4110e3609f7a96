/** Steps of a rollout on an API server in memory: the writes, and their order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { grantOf } from "#contract/grant.ts";
import { retryAnnotation, syncAnnotation } from "#contract/names.ts";
import { readPublished } from "#controller/objects/global-secret.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { rolloutTroubles } from "../status/outcome.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import { observe } from "#controller/sources/snapshot.ts";
import type { CollectionInformer } from "#kube/watch/informer.ts";
import { isPublishedOut } from "../status/summary.ts";
import type { AgentPod } from "./pods.ts";
import { takeStep, type Progress } from "./step.ts";
import {
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
  const { revision, served } = await world.step(firstContent);
  assert.deepEqual([revision, served], [1, 0]);
  assert.deepEqual(
    world.writes,
    // The second write of the Secret records that no node can have our entries yet.
    ["global", "serviceAccount", "role", "roleBinding", "global", "state", "daemonSet"],
  );
});

test("decides nothing until the agents' pods have been read", async () => {
  const world = await World.of({ a: "proves" });
  const pods = { view: { synced: false, items: new Map() }, wrote: () => {} };
  Object.assign(world.remover, { pods });
  const { view, again } = await world.step(firstContent);
  assert.deepEqual([view, again, world.writes], [undefined, 1, []]);
});

test("records the canary before its grant, and grants to no other node until the canary has proved the content", async () => {
  const world = await World.of({ a: "ignores", b: "ignores", c: "ignores" });
  await world.until(firstContent, () => Object.values(world.granted).includes(1));
  // From now on, the Secret records that a node might have our entries.
  assert.deepEqual(world.writes.slice(-3), ["state", "global", "pod-of-a"]);
  assert.equal(world.state.canary?.node, "a");
  for (let seconds = 0; seconds < 30; seconds += 1) await world.step(firstContent);
  assert.deepEqual(world.granted, { a: 1, b: undefined, c: undefined });
  world.nodes.set("a", "proves");
  await world.until(firstContent, ({ state }) => state.word);
  await world.step(firstContent);
  assert.equal(world.granted["b"], 1);
});

test("serves new nodes nothing until all existing nodes have proved the content, and then writes nothing more", async () => {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  const progress = await world.until(firstContent, ({ ended }) => ended);
  assert.deepEqual(world.granted, { a: 1, b: 1, c: 1 });
  assert.equal(progress.served, 1);
  await world.step(firstContent);
  const { length } = world.writes;
  for (let seconds = 0; seconds < 30; seconds += 1) await world.step(firstContent);
  assert.deepEqual(world.writes.slice(length), []);
});

test("reports a revision as rolled out when the nodes that joined before the promotion have the revision", async () => {
  const world = await deployed();
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: 1 }) });
  await world.until(two, ({ state }) => state.word);
  await world.join("d", "ignores");
  const promoted = await world.until(two, ({ served }) => served === 2);
  assert.deepEqual([promoted.ended, isPublishedOut(promoted)], [false, false]);
  assert.equal(isPublishedOut(await world.step(two)), false);
  world.nodes.set("d", "proves");
  const last = await world.until(two, ({ ended }) => ended);
  assert.deepEqual([world.granted["d"], isPublishedOut(last)], [2, true]);
  assert.equal((await world.step(two)).ended, false);
});

test("keeps serving older content while it rolls out newer content, and replaces no pod", async () => {
  const world = await deployed();
  const template = world.daemonSet?.metadata?.generation;
  const pods = world.pods.map(({ metadata }) => metadata?.uid);
  const { revision, served } = await world.step(two);
  assert.deepEqual([revision, served], [2, 1]);
  assert.equal(world.published?.served === "nothing", false);
  await world.until(two, isServed);
  assert.deepEqual(world.granted, { a: 2, b: 2, c: 2 });
  assert.deepEqual(
    world.pods.map(({ metadata }) => metadata?.uid),
    pods,
  );
  assert.equal(world.daemonSet?.metadata?.generation, template);
});

test("records a halt before it revokes grants, and publishes nothing until a retry", async () => {
  const world = await deployed();
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: 1, maxFailures: 0 }) });
  for (const name of world.nodes.keys()) world.nodes.set(name, "fails");
  const { length } = world.writes;
  const { served } = await world.until(two, ({ view }) => view?.phase === "halted");
  assert.equal(served, 1);
  await world.step(two);
  const writes = world.writes.slice(length).filter((name) => name !== "global");
  const { node = "" } = world.state.canary ?? {};
  assert.deepEqual(writes.slice(-2), ["state", `pod-of-${node}`]);
  assert.deepEqual([world.state.halted, world.granted[node]], [true, 0]);
  assert.equal(world.published?.revision, 2);
  for (const name of world.nodes.keys()) world.nodes.set(name, "proves");
  Object.assign(world.remover, { requests: { ...world.remover.requests, retry: "1" } });
  await world.until(two, isServed);
  assert.deepEqual([world.state.retry, world.state.halted], ['["","1"]', false]);
});

test("begins a retry that either of two objects requests", async () => {
  const world = await deployed();
  Object.assign(world.remover, { requests: { ...world.remover.requests, retry: "object" } });
  await world.step(firstContent);
  assert.equal(world.state.retry, '["","object"]');
  const metadata = { name: "additional-pull-secret", annotations: { [retryAnnotation]: "secret" } };
  const data = { ".dockerconfigjson": btoa("{}") };
  await world.cluster.create(collections.secrets, { metadata, data });
  await world.step(firstContent);
  assert.equal(world.state.retry, '["secret","object"]');
});

test("stays halted when both requests for a retry are removed one after the other", async () => {
  const world = await deployed();
  const ask = (retry: string): void =>
    void Object.assign(world.remover, { requests: { ...world.remover.requests, retry } });
  ask("object");
  const metadata = { name: "additional-pull-secret", annotations: { [retryAnnotation]: "secret" } };
  const data = { ".dockerconfigjson": btoa("{}") };
  await world.cluster.create(collections.secrets, { metadata, data });
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: 1, maxFailures: 0 }) });
  for (const name of world.nodes.keys()) world.nodes.set(name, "fails");
  await world.until(two, ({ view }) => view?.phase === "halted");
  ask("");
  assert.equal((await world.step(two)).state.halted, true);
  world.delete(`${collections.secrets}/additional-pull-secret`);
  assert.equal((await world.step(two)).state.halted, true);
  ask("object");
  assert.equal((await world.step(two)).state.halted, true);
  ask("another");
  await world.step(two);
  assert.equal(world.state.halted, false);
});

test("empties the served slot at once in a withdrawal, and completes the withdrawal when every node has confirmed", async () => {
  const world = await deployed();
  const first = await world.step(nothingLeft);
  assert.deepEqual([first.intent, first.served, first.completed], ["release", 0, undefined]);
  const last = await world.until(nothingLeft, ({ completed }) => completed !== undefined);
  assert.deepEqual(last.completed, { isConfirmed: true });
  assert.deepEqual(world.granted, { a: 2, b: 2, c: 2 });
});

test("during a rollout, begins a withdrawal at once and does not wait for the canary", async () => {
  const world = await deployed();
  world.nodes.set("a", "ignores");
  await world.step(two);
  await world.step(two);
  const { intent, revision } = await world.step(nothingLeft);
  assert.deepEqual([intent, revision], ["release", 3]);
});

test("recreates a DaemonSet that someone deleted during a withdrawal, and does not report the withdrawal as complete", async () => {
  const world = await deployed();
  world.nodes.set("a", "ignores");
  await world.step(nothingLeft);
  world.delete(owned.daemonSet);
  const { completed } = await world.step(nothingLeft);
  assert.equal(completed, undefined);
  assert.ok(world.daemonSet);
  world.nodes.set("a", "proves");
  const last = await world.until(nothingLeft, (progress) => progress.completed !== undefined);
  assert.deepEqual(last.completed, { isConfirmed: true });
  assert.deepEqual(world.granted, { a: 2, b: 2, c: 2 });
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
    const { completed } = await world.step(nothingLeft);
    assert.equal(completed, undefined, "a wait of an hour ended at once");
    world.seconds += 3601;
    assert.deepEqual((await world.step(nothingLeft)).completed, { isConfirmed: false });
  });

test("creates an immutable Secret again with the same content", async () => {
  const world = await deployed();
  const before = world.published;
  world.edit(owned.global, { immutable: true });
  // Only metadata of an immutable Secret can be changed.
  world.edit(owned.global, { metadata: { labels: { "app.kubernetes.io/managed-by": "x" } } });
  await world.step(firstContent);
  await world.until(two, isServed);
  const secret = world.api.object<V1Secret>(owned.global);
  assert.equal(secret?.immutable, undefined);
  assert.deepEqual([before?.revision, world.published?.revision], [1, 2]);
});

const edits: readonly (readonly [what: string, data: Readonly<Record<string, string | null>>])[] = [
  ["document", { ".dockerconfigjson": btoa('{"auths":{}}') }],
  ["revision", { revision: btoa("9") }],
  ["salt", { salt: null }],
  ["intent", { intent: btoa("release") }],
  ["mode", { mode: btoa("Reread") }],
  ["served revision", { "served.revision": btoa("1"), "served..dockerconfigjson": btoa("{}") }],
];
for (const [what, data] of edits)
  test(`publishes a higher revision when someone edited the ${what}, even without our label`, async () => {
    const world = await deployed();
    await world.step(two);
    const { length } = world.writes;
    world.edit(owned.global, {
      metadata: { labels: { "app.kubernetes.io/managed-by": null } },
      data,
    });
    await world.step(two);
    assert.ok(world.writes.slice(length).includes("global"));
    const { revision = 0, document, served, mode, intent } = world.published ?? {};
    assert.ok(revision > 2, String(revision));
    assert.deepEqual(
      [document, served, mode, intent],
      [two.document, "nothing", "Restart", "apply"],
    );
    await world.until(two, isServed);
  });

test("restores a deleted Secret with a revision that no node has", async () => {
  const world = await deployed();
  world.delete(owned.global);
  await world.step(firstContent);
  assert.deepEqual(
    [world.published?.revision, world.published?.document],
    [2, firstContent.document],
  );
  await world.until(firstContent, isServed);
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
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 3);
  await world.until(firstContent, isServed);
  assert.deepEqual(
    world.pods.map(({ metadata }) => metadata?.uid),
    pods,
  );
});

test("replaces pods of an older template one by one, and records each node before its pod's deletion", async () => {
  const world = await deployed();
  const before = new Set(world.pods.map(({ metadata }) => metadata?.uid));
  const { length } = world.writes;
  Object.assign(world.remover, {
    agent: { ...world.remover.agent, image: "example.invalid/agent:2" },
  });
  await world.until(firstContent, () =>
    world.pods.every(({ metadata }) => !before.has(metadata?.uid)),
  );
  const writes = world.writes.slice(length);
  const deletions = writes.filter((name) => name.startsWith("-"));
  assert.deepEqual(deletions, ["-pod-of-a", "-pod-of-b", "-pod-of-c"]);
  for (const name of deletions) assert.equal(writes[writes.indexOf(name) - 1], "state", name);
});

const useScope = (world: World, scope: "All" | "Annotated") =>
  Object.assign(world.remover, {
    agent: { ...world.remover.agent, delivery: { mode: "CredentialProvider", scope } },
  });

for (const [from, to, published] of [
  ["All", "Annotated", "CredentialProviderAnnotated"],
  ["Annotated", "All", "CredentialProvider"],
] as const)
  test(`when scope and content change together, grants newer content only to agents of scope ${to}`, async () => {
    const world = await World.of({ a: "proves", b: "proves", c: "proves" });
    useScope(world, from);
    await world.until(firstContent, isServed);
    const before = new Set(world.pods.map(({ metadata }) => metadata?.uid));
    useScope(world, to);
    const { revision } = await world.until(two, (progress) => {
      // Agents of the earlier scope keep the earlier content, and get no other content.
      for (const { metadata } of world.pods)
        if (before.has(metadata?.uid)) assert.equal(grantOf(metadata?.annotations)?.revision, 1);
      const isNewer = world.published?.document === two.document;
      return isNewer && world.published?.mode === published && isServed(progress);
    });
    assert.deepEqual(world.granted, { a: revision, b: revision, c: revision });
  });

/** A world that has served content in scope All, and gets no template of scope Annotated. */
async function refusesAnnotated(status: number): Promise<World> {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  useScope(world, "All");
  await world.until(firstContent, isServed);
  useScope(world, "Annotated");
  world.api.refuses = ({ userAgent, path }, verb) =>
    verb === "patch" && userAgent === fieldManager && path === owned.daemonSet
      ? refuse(status, "Refused", "not by you")
      : undefined;
  return world;
}

for (const status of [403, 409, 500]) {
  test(`grants nothing to agents of scope All while the template of scope Annotated is answered with ${status}`, async () => {
    const world = await refusesAnnotated(status);
    for (let seconds = 0; seconds < 120; seconds += 1) await world.step(two);
    assert.deepEqual(world.granted, { a: 1, b: 1, c: 1 });
    world.api.refuses = () => undefined;
    const { revision } = await world.until(two, isServed);
    assert.deepEqual(Object.values(world.granted), [revision, revision, revision]);
    assert.equal(revision, 2);
  });

  test(`keeps serving unchanged content to joining nodes while the template of scope Annotated is answered with ${status}`, async () => {
    const world = await refusesAnnotated(status);
    await world.join("d");
    for (let seconds = 0; seconds < 120; seconds += 1) {
      const progress = await world.step(firstContent);
      const { revision, served } = progress;
      assert.deepEqual([revision, served, world.published?.mode], [1, 1, "CredentialProvider"]);
      assert.equal(progress.view?.pending, "template", "status reports that the mode waits");
    }
    assert.deepEqual(world.granted, { a: 1, b: 1, c: 1, d: 1 });
    world.api.refuses = () => undefined;
    await world.until(firstContent, ({ revision, ended }) => revision === 2 && ended);
    assert.equal(world.published?.mode, "CredentialProviderAnnotated");
    assert.deepEqual(world.granted, { a: 2, b: 2, c: 2, d: 2 });
    const { length } = world.writes;
    for (let seconds = 0; seconds < 30; seconds += 1) await world.step(firstContent);
    assert.deepEqual(world.writes.slice(length), []);
  });
}

test("goes back to scope All when the template of scope Annotated was never written", async () => {
  const world = await refusesAnnotated(403);
  for (let seconds = 0; seconds < 30; seconds += 1) await world.step(two);
  assert.equal(world.published?.mode, "CredentialProviderAnnotated");
  useScope(world, "All");
  const { revision } = await world.until(two, isServed);
  assert.deepEqual([revision, world.published?.mode], [3, "CredentialProvider"]);
  assert.deepEqual(world.granted, { a: 3, b: 3, c: 3 });
});

test("completes an upgrade when a node whose pod was deleted is no longer served", async () => {
  const world = await deployed();
  const before = new Set(world.pods.map(({ metadata }) => metadata?.uid));
  Object.assign(world.remover, {
    agent: { ...world.remover.agent, image: "example.invalid/agent:2" },
  });
  await world.until(firstContent, ({ state }) => state.replaced.includes("a"));
  // The DaemonSet controller creates no new pod for node a, and no longer counts the node.
  world.nodes.delete("a");
  world.edit(`${collections.nodes}/a`, { metadata: { labels: { "kubernetes.io/os": "windows" } } });
  await world.until(firstContent, ({ state }) => state.replaced.length === 0);
  const pods = world.pods.map(({ metadata, spec }) => [spec?.nodeName, before.has(metadata?.uid)]);
  assert.deepEqual(Object.fromEntries(pods), { b: false, c: false });
});

test("sends no grant and occupies no slot when the canary cannot be recorded", async () => {
  const world = await World.of({ a: "proves", b: "proves" });
  await world.step(firstContent);
  const isCanary = ({ path }: { path: string }): boolean => path.startsWith(owned.state);
  world.api.refuses = (request, verb) =>
    verb !== "get" && isCanary(request) ? refuse(409, "Conflict", "it changed") : undefined;
  await assert.rejects(
    world.until(firstContent, () => false),
    { status: 409 },
  );
  assert.deepEqual(world.granted, { a: undefined, b: undefined });
  const { pods } = world.remover.memory.grants;
  assert.deepEqual(
    [...pods.values()].map(({ holds }) => holds),
    [false, false],
  );
});

/** The parts of the final state that must not depend on when the controller was killed. */
function endOf(world: World): object {
  const { document, intent, served, mode } = world.published ?? {};
  const isServed = served !== "nothing" && served?.document === document;
  const templates = world.pods.map(({ metadata }) => {
    const { [syncAnnotation]: _, ...annotations } = metadata?.annotations ?? {};
    return annotations["globalpullsecret.io/template"];
  });
  const grants = new Set(Object.values(world.granted));
  return { document, intent, mode, isServed, templates, grants: grants.size };
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

test("promotes content without waiting for a node that was served before and has been unreachable for a minute", async () => {
  const world = await deployed();
  world.nodes.set("b", "away");
  const { view } = await world.until(two, ({ ended }) => ended);
  assert.deepEqual(view?.excused, [{ node: "b", reason: "away", waitingReason: undefined }]);
  assert.deepEqual(world.granted, { a: 2, b: 1, c: 2 });
});

test("promotes content without waiting until a failed node gets its next grant", async () => {
  const world = await deployed();
  const { policy } = world.remover;
  const rollout = { ...policy.rollout, maxFailures: 1 };
  Object.assign(world.remover, { policy: { ...policy, rollout } });
  world.nodes.set("b", "fails");
  await world.until(two, ({ ended }) => ended);
  assert.ok(world.seconds < 300, "it did not wait until the failed node got its next grant");
  assert.deepEqual(world.granted, { a: 2, b: 0, c: 2 });
});

test("grants a withdrawal to an unreachable node as soon as the node returns", async () => {
  const world = await deployed();
  world.nodes.set("b", "ignores");
  await world.until(nothingLeft, () => world.granted["b"] === 2);
  world.nodes.set("b", "away");
  await world.until(nothingLeft, ({ view }) => view?.excused[0]?.reason === "away");
  world.nodes.set("b", "proves");
  const back = world.seconds;
  const { completed } = await world.until(
    nothingLeft,
    (progress) => progress.completed !== undefined,
  );
  assert.deepEqual(completed, { isConfirmed: true });
  assert.ok(world.seconds - back < 30, `${world.seconds - back} s`);
});

test("chooses no canary whose Node is gone, although its pod exists for another minute", async () => {
  const world = await deployed();
  // "a" was the canary of the first content, so "b" is the next canary.
  world.nodes.set("b", "ignores");
  world.delete(`${collections.nodes}/b`);
  const { state } = await world.until(two, () => world.granted["c"] === 2);
  assert.deepEqual([state.halted, state.failed], [false, []]);
});

test("grants promoted content to a node that returns, however many nodes fail later", async () => {
  const world = await deployed();
  world.nodes.set("b", "away");
  await world.until(two, ({ ended }) => ended);
  world.seconds += 30 * 86_400;
  for (const name of ["d", "e"]) await world.join(name, "fails");
  const { view } = await world.until(two, ({ state }) => state.failed.length === 2);
  assert.deepEqual([view?.phase, world.state.halted], ["served", false]);
  // The node returns: its kubelet reports its pod as Ready again.
  world.nodes.set("b", "proves");
  world.returns("b");
  const last = await world.until(two, () => world.granted["b"] === 2);
  assert.deepEqual(
    rolloutTroubles(last).map(([kind, { message }]) => [
      kind,
      /failed on 2 nodes: [de]: /.test(message),
    ]),
    [["failed", true]],
  );
});

test("lists Nodes a few times while a withdrawal waits for a node without a pod, and at once when that node confirms", async () => {
  const world = await deployed();
  world.nodes.set("b", "podless");
  await world.step(nothingLeft);
  const lists = () =>
    world.api.asked.filter(
      ({ verb, resource, query, userAgent }) =>
        verb === "list" &&
        resource === "nodes" &&
        userAgent === fieldManager &&
        !query["fieldSelector"],
    ).length;
  await world.until(nothingLeft, () => world.granted["a"] === 2 && world.granted["c"] === 2);
  const before = lists();
  for (let seconds = 0; seconds < 300; seconds += 1) {
    const { completed, again } = await world.step(nothingLeft);
    assert.equal(completed, undefined);
    assert.ok(again > 0);
  }
  assert.ok(lists() - before <= 4, `${lists() - before} lists in five minutes`);
  world.nodes.set("b", "proves");
  const from = world.seconds;
  const { completed } = await world.until(
    nothingLeft,
    (progress) => progress.completed !== undefined,
  );
  assert.deepEqual(completed, { isConfirmed: true });
  assert.ok(world.seconds - from < 20, `${world.seconds - from} s`);
});

/**
 * Takes a step while the controller cannot see the pods: the API server has ended the watch, and
 * the controller lists the pods again.
 */
async function unseen(world: World, target: WantedContent): Promise<Progress> {
  (world.remover.pods as CollectionInformer<AgentPod>).lost();
  return takeStep(world.remover, await observe(world.cluster, undefined), target);
}

test("keeps the last known state of the nodes while it lists their pods again", async () => {
  const world = await deployed();
  const { view } = await world.step(firstContent);
  const during = await unseen(world, firstContent);
  assert.deepEqual([during.view, isPublishedOut(during)], [view, true]);
  const waiting = await unseen(world, two);
  assert.deepEqual([waiting.view?.pending, world.published?.revision], ["places", 1]);
  const newer = await world.step(two);
  assert.equal(newer.revision, 2);
});

test("publishes a withdrawal and empties the served slot before the pods are known", async () => {
  const world = await deployed();
  const other = content("u:2", { sources: '{"quay.io":"original"}' });
  const emptied = await unseen(world, other);
  assert.deepEqual([emptied.revision, emptied.served], [1, 0]);
  const { intent, revision, served, completed } = await unseen(world, nothingLeft);
  assert.deepEqual([intent, revision, served, completed], ["release", 2, 0, undefined]);
  assert.deepEqual(world.granted, { a: 1, b: 1, c: 1 });
});

test("reports why the controller cannot watch the pods", async () => {
  const world = await deployed();
  const failure = new Error("may not watch");
  (world.remover.pods as CollectionInformer<AgentPod>).failed(failure);
  assert.equal((await unseen(world, firstContent)).failure, failure);
});
