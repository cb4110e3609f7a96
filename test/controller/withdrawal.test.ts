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
import {
  agents,
  deployed,
  kubelets,
  names,
  on,
  rig,
  served,
  start,
  started,
  undeclare,
} from "./rig.ts";

rig();

test("waits for a node that is Ready but has not confirmed the removal, and names the node", async () => {
  await allowSeconds(on);
  await start({ rollout: { maxUnavailable: "100%" }, withdrawal: { deadline: "5s" } });
  const revision = await deployed();
  kubelets.behaviour = (node) => (node === "b" ? "wordless" : "ready");
  await undeclare();
  await plane.untilEvent(on, "RemovalOverdue", "waiting for b;", 150_000);
  assert.ok(kubelets.order(revision + 1).includes("b"));
  assert.notEqual(await on.api.get(paths.daemonSet), undefined);
  kubelets.behaviour = () => "ready";
  await on.cluster.kubectl(
    "delete",
    "pods",
    "-n",
    "kube-system",
    "-l",
    "name=global-pull-secret-syncer",
  );
  await plane.untilGone(on, 150_000);
});

test("rolls out the new Secret when it is created in the middle of a withdrawal", async () => {
  const revision = await served(1);
  await undeclare();
  await until("the withdrawal has begun", () => started(revision + 1) > 0);
  await plane.declare(on, content("again"));
  await plane.untilRolledOut(on, revision + 2);
  assert.equal((await plane.published(on))?.document, content("again"));
});

test("reports an overdue removal in an Event, with a command that finishes the removal", async () => {
  await allowSeconds(on);
  const settings = { rollout: { maxUnavailable: 1 }, withdrawal: { deadline: "5s" } };
  const revision = await served(settings);
  kubelets.behaviour = (node, of) => (of > revision && node === "a" ? "hangs" : "ready");
  await undeclare();
  const { message } = await plane.untilEvent(on, "RemovalOverdue", "waiting for a", 150_000);
  // A link to the code's page follows the command.
  const [, command = ""] = /to finish without them: kubectl (.*) \[[^\]]+\]$/.exec(message) ?? [];
  await on.cluster.kubectl(...command.split(" "));
  await plane.untilGone(on);
});

test("deletes all objects at once if no node ever had a grant", async () => {
  await start();
  kubelets.behaviour = () => "never starts";
  await plane.declare(on, content("one"));
  await until(
    "every node has an agent's pod",
    async () => (await agents()).length === names.length,
  );
  await undeclare();
  await plane.untilGone(on, 15_000);
  assert.equal(started(1) + started(2), 0);
});
