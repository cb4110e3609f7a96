/**
 * How our entries are removed from nodes, with the real DaemonSet controller and simulated
 * kubelets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content, paths } from "./plane.ts";
import { allowSeconds } from "./steer.ts";
import { agents, begunAfter, kubelets, names, on, rig, served, start, undeclare } from "./rig.ts";

rig();

test("removes the entries from all nodes at once, whatever the budget, and deletes the nodes' objects", async () => {
  const revision = await served(1);
  await undeclare();
  await until("every node has removed the entries", () => begunAfter(revision).length === 3, {
    timeout: 10_000,
  });
  await plane.untilGone(on);
  assert.deepEqual(begunAfter(revision), names);
  assert.deepEqual(await plane.nodePullSecrets(on), []);
});

test("rolls out the new Secret when it is created in the middle of a withdrawal", async () => {
  const revision = await served(1);
  kubelets.behaviour = (node) => (node === "b" ? "hangs" : "ready");
  await undeclare();
  await until("the withdrawal has begun", () => begunAfter(revision).length === 2);
  await plane.declare(on, content("again"));
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("again")));
});

test("reports an overdue removal in an Event that names the node, and ends the removal by its number", async () => {
  await allowSeconds(on);
  await served({ rollout: { maxUnavailable: 1 }, withdrawal: { deadline: "5s" } });
  kubelets.behaviour = (node) => (node === "a" ? "hangs" : "ready");
  await undeclare();
  const { message } = await plane.untilEvent(on, "RemovalOverdue", "waiting for a", 150_000);
  assert.notEqual(await on.api.get(paths.daemonSet), undefined);
  const [, removal = ""] = /removal (\d+) has made no progress/.exec(message) ?? [];
  const secret = ["secret", "global-pull-secret", "-n", "kube-system", "--overwrite"];
  await on.cluster.kubectl("annotate", ...secret, `globalpullsecret.io/released=${removal}`);
  await plane.untilGone(on);
});

test("deletes all objects at once if no agent ever started", async () => {
  await start();
  kubelets.behaviour = () => "never starts";
  await plane.declare(on, content("one"));
  await until(
    "every node has an agent's pod",
    async () => (await agents()).length === names.length,
  );
  await undeclare();
  await plane.untilGone(on, 15_000);
  assert.deepEqual(kubelets.starts, []);
});
