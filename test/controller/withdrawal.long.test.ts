/**
 * Nodes that are away at a removal, and what else may end the wait for them: a minute and more
 * each.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import { allowSeconds } from "./steer.ts";
import { content, deployed, kubelets, on, rig, running, served, start, undeclare } from "./rig.ts";

rig();

test("a node that was away at the removal is waited for, alone, without any credential left in the cluster, and gives back", async () => {
  const revision = await served(1);
  await kubelets.die("c");
  await undeclare();
  const { message } = await plane.untilEvent(on, "NodesAwaited", "c", 150_000);
  assert.match(message, /1 node away may hold the entries.*: c;/);
  assert.deepEqual(kubelets.order(revision + 1).toSorted(), ["a", "b"]);
  const secrets = await on.cluster.kubectl("get", "secrets", "-n", "kube-system", "-o", "json");
  assert.ok(!secrets.includes(Buffer.from(content("one")).toString("base64")));
  // It is derived from what exists: another controller goes on with it.
  for (const one of running.splice(0)) await one.kill();
  await plane.freeLease(on);
  await start(1);
  await stays(
    "it is waited for",
    async () => (await on.api.get(paths.daemonSet)) !== undefined,
    5000,
  );
  assert.ok(!kubelets.order(revision + 1).includes("c"));
  await kubelets.revive("c");
  await plane.untilGone(on, 150_000);
  assert.ok(kubelets.order(revision + 1).includes("c"));
});

test("nodes that stay away are given up after spec.withdrawal.forgetAfter, and named", async () => {
  await allowSeconds(on);
  await start({ rollout: { maxUnavailable: 1 }, withdrawal: { forgetAfter: "8s" } });
  await deployed();
  await kubelets.die("c");
  await undeclare();
  await plane.untilEvent(on, "NodesLeftBehind", "c", 150_000);
  await plane.untilGone(on);
  await kubelets.revive("c");
});

test("a node that is away and deleted is waited for no longer", async () => {
  await kubelets.add("gone");
  await start("100%");
  await deployed();
  await kubelets.die("gone");
  await undeclare();
  await plane.untilEvent(on, "NodesAwaited", "gone", 150_000);
  await kubelets.remove("gone");
  await plane.untilGone(on, 150_000);
});

test("the Secret created again while nodes that were away are waited for goes to all again, one node first", async () => {
  await start(1);
  const revision = await deployed();
  await kubelets.die("c");
  await undeclare();
  await plane.untilEvent(on, "NodesAwaited", "c", 150_000);
  assert.deepEqual(kubelets.order(revision + 1).toSorted(), ["a", "b"]);
  kubelets.mostAtOnce = 0;
  await plane.declare(on, content("again"));
  const next = await plane.untilPublished(on, content("again"));
  assert.ok(next > revision);
  await plane.untilRolledOut(on, next);
  assert.equal(kubelets.mostAtOnce, 1);
  await kubelets.revive("c");
  await until("c has it too", () => kubelets.order(next).includes("c"), { timeout: 150_000 });
});
