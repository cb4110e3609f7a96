/** How revisions leave nodes, with the real DaemonSet controller and fake kubelets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import { allowSeconds } from "./steer.ts";
import {
  agents,
  content,
  deployed,
  kubelets,
  names,
  on,
  rig,
  running,
  served,
  start,
  started,
  undeclare,
} from "./rig.ts";

rig();

test("a node that was away at the removal is waited for, alone, without any credential left in the cluster, and gives back", async () => {
  const revision = await served(1);
  await kubelets.die("c");
  await undeclare();
  const { message } = await plane.untilEvent(on, "NodesAwaited", "c", 150_000);
  assert.match(message, /1 node away may hold the entries.*: c;/);
  await until("the others have no agent any more", async () =>
    (await agents()).every((node) => node === "c"),
  );
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

test("readiness alone is not believed: a node that has not said that it gave back keeps the removal, and is named", async () => {
  await allowSeconds(on);
  await start({ rollout: { maxUnavailable: "100%" }, withdrawal: { deadline: "5s" } });
  const revision = await deployed();
  kubelets.wordless.add("b");
  await undeclare();
  await plane.untilEvent(on, "RemovalOverdue", "waiting for b;", 150_000);
  assert.ok(kubelets.order(revision + 1).includes("b"));
  assert.notEqual(await on.api.get(paths.daemonSet), undefined);
  kubelets.wordless.clear();
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

test("the Secret created again in mid-withdrawal turns it round", async () => {
  const revision = await served(1);
  await undeclare();
  await until("the withdrawal has begun", () => started(revision + 1) > 0);
  await plane.declare(on, content("again"));
  await plane.untilRolledOut(on, revision + 2);
  assert.equal((await plane.published(on))?.document, content("again"));
});

test("a removal that hangs is told after the deadline, and the command in the Event finishes it", async () => {
  await allowSeconds(on);
  const wish = { rollout: { maxUnavailable: 1 }, withdrawal: { deadline: "5s" } };
  const revision = await served(wish);
  kubelets.behaviour = (node, of) => (of > revision && node === "a" ? "hangs" : "ready");
  await undeclare();
  const { message } = await plane.untilEvent(on, "RemovalOverdue", "waiting for a", 150_000);
  const [, command = ""] = /to finish without them: kubectl (.*)$/.exec(message) ?? [];
  await on.cluster.kubectl(...command.split(" "));
  await plane.untilGone(on);
});

test("what never reached a node is removed without a withdrawal", async () => {
  await start();
  kubelets.behaviour = () => "hangs";
  await plane.declare(on, content("one"));
  await until("agents have started", () => started(0) === names.length);
  await undeclare();
  await plane.untilGone(on, 15_000);
  assert.equal(started(1) + started(2), 0);
});
