/**
 * The whole controller on a cluster in memory: what it writes, in which order, and what that does
 * to the nodes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAnnotation } from "#contract/names.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { revisionOf } from "../objects/daemonset/daemonset-state.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { intervalLeft } from "./decision.ts";
import { createLookout } from "./lookout.ts";
import { additionalPath, deployed, text, World } from "./world.fixture.ts";

test("born unavailable, then one patch brings the first revision to one node, then to the others", async () => {
  const world = await World.of(3);
  world.declare("a:1");
  await world.pass(3);
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 86_400);
  await world.pass(60, () => revisionOf(world.daemonSet) > 0);
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 3);
  await world.pass(60);
  assert.deepEqual([world.having("a:1"), world.nodes.mostAtOnce], [3, 1]);
});

test("a halt is remembered before it is published, and published before the template has it", async () => {
  const world = await deployed(4);
  world.declare("a:2");
  world.bad.add(text("a:2"));
  await world.pass(60, () => world.published?.document === text("a:2"));
  world.api.asked.length = 0;
  await world.pass(120, () => world.published?.intent === "hold");
  const { state, global, daemonSet } = Object.fromEntries(
    Object.entries({ state: owned.state, global: owned.global, daemonSet: owned.daemonSet }).map(
      ([name, path]) => [name, world.writes.indexOf(path.split("/").at(-1) ?? "")],
    ),
  ) as Record<"state" | "global" | "daemonSet", number>;
  assert.ok(state >= 0 && state < global && global < daemonSet, world.writes.join());
  assert.equal(world.published?.document, text("a:1"));
  assert.deepEqual(
    [world.halt?.revision, world.halt?.nodes.length, world.halt?.reason],
    [2, 1, "failed"],
  );
  await world.pass(60);
  assert.equal(world.having("a:1"), 4);
});

test("a controller that starts anew in a hold keeps it, and an asked-for retry ends it", async () => {
  const world = await deployed(4);
  world.declare("a:2");
  world.bad.add(text("a:2"));
  await world.pass(120, () => world.published?.intent === "hold");
  Object.assign(world.reconciler, { lookout: createLookout(() => world.seconds) });
  await world.pass(120);
  assert.equal(world.published?.intent, "hold");
  world.bad.clear();
  world.declare("a:2", { [retryAnnotation]: "1" });
  await world.pass(120);
  assert.deepEqual(
    [world.having("a:2"), world.published?.intent, world.halt],
    [4, "apply", undefined],
  );
});

test("an edit that overrides all that the original has is held like any other when nodes fail with it", async () => {
  const world = await World.of(4);
  const path = `${collections.secrets}/pull-secret`;
  world.putSecret(path, text("o:1"));
  const original = { name: "kube-system/pull-secret", read: async () => world.object(path) };
  Object.assign(world.reconciler, { original });
  world.putSecret(additionalPath, JSON.stringify({ auths: { "own.example": { auth: "dTpw" } } }));
  await world.pass(200);
  assert.deepEqual(Object.values(world.published?.sources ?? {}), ["additional", "original"]);
  world.declare("a:2");
  world.bad.add(text("a:2"));
  await world.pass(120, () => world.published?.intent === "hold");
  assert.equal(world.published?.intent, "hold");
});

test("a hold never carries what is withdrawn", async () => {
  const world = await deployed(3);
  world.remove(additionalPath);
  await world.pass(3);
  assert.equal(world.published?.intent, "release");
  assert.equal(world.state.served, undefined);
});

test("H21: where somebody deleted DaemonSet and Secret, a withdrawal in mid-birth asks the nodes all the same", async () => {
  const world = await deployed(3);
  world.remove(owned.daemonSet);
  world.remove(owned.global);
  await world.pass(1);
  assert.equal(revisionOf(world.daemonSet), 0);
  world.remove(additionalPath);
  await world.pass(120, () => world.published?.intent === "release");
  assert.equal(world.published?.intent, "release");
  assert.ok(world.daemonSet, "nobody is there to ask the nodes");
});

test("a rollout that another controller's clock put into the future holds no change up for longer than the interval", () => {
  const now = () => new Date("2026-11-23T00:00:00Z");
  const rest = (rolledAt: string, minIntervalSeconds: number) =>
    intervalLeft(
      { halt: undefined, excused: [], rolledAt },
      { policy: policyWith({ minIntervalSeconds }), now },
    );
  assert.equal(rest("2026-11-23T01:00:00Z", 0), 0);
  assert.equal(rest("2026-11-23T01:00:00Z", 60), 60);
  assert.equal(rest("2026-11-22T23:59:50Z", 60), 50);
});
