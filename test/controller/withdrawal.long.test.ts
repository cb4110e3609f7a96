/**
 * Nodes that are away during a removal, and what ends the wait for these nodes. Each test takes a
 * minute or more.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content, paths } from "./plane.ts";
import { allowSeconds, untilCondition } from "./steer.ts";
import {
  begunAfter,
  deployed,
  kubelets,
  on,
  rig,
  running,
  served,
  start,
  undeclare,
} from "./rig.ts";

rig();

test("keeps no credential in the cluster while it waits for an absent node, and cleans the node when the node returns", async () => {
  const revision = await served(1);
  await kubelets.die("c");
  await undeclare();
  const { message } = await plane.untilEvent(on, "NodesAwaited", "c", 150_000);
  assert.match(message, /for 1 node away: c;/);
  assert.deepEqual(begunAfter(revision), ["a", "b"]);
  const secrets = await on.cluster.kubectl("get", "secrets", "-n", "kube-system", "-o", "json");
  assert.ok(!secrets.includes(Buffer.from(content("one")).toString("base64")));
  // The next controller continues to wait, because it recognizes the unfinished removal from the
  // existing objects.
  for (const controller of running.splice(0)) await controller.kill();
  await plane.freeLease(on);
  await start(1);
  await stays(
    "the removal waits for it",
    async () => (await on.api.get(paths.daemonSet)) !== undefined,
    5000,
  );
  assert.ok(!begunAfter(revision).includes("c"));
  await kubelets.revive("c");
  await plane.untilGone(on, 150_000);
  assert.ok(begunAfter(revision).includes("c"));
});

test("stops waiting for an absent node after forgetAfter, and names the node until its object is deleted", async () => {
  await allowSeconds(on);
  await start({ rollout: { maxUnavailable: 1 }, withdrawal: { forgetAfter: "8s" } });
  await deployed();
  await kubelets.die("c");
  await undeclare();
  await plane.untilGone(on);
  const condition = await untilCondition(on, "NodesLeftOut", "True", "NodesLeftBehind");
  assert.equal(condition.message, "c");
  const [object, ...others] = await plane.nodePullSecrets(on);
  assert.deepEqual([object?.metadata.name, others], ["c", []]);
  await on.cluster.kubectl("delete", "nps", "c", "-n", "kube-system");
  await untilCondition(on, "NodesLeftOut", "False");
});
