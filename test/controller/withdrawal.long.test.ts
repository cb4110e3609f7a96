/**
 * Nodes that are away at a removal, and what else may end the wait for them: a minute and more
 * each.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { allowSeconds } from "./steer.ts";
import { agents, content, deployed, kubelets, on, rig, start, undeclare } from "./rig.ts";

rig();

test("nodes that stay away are given up after spec.withdrawal.forgetAfter, and named", async () => {
  await allowSeconds(on);
  await start({ rollout: { maxUnavailable: 1 }, withdrawal: { forgetAfter: "8s" } });
  await deployed();
  await kubelets.die("c");
  await undeclare();
  await plane.untilEvent(on, "NodesAwaited", "c", 150_000);
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
  await until("the others have no agent any more", async () =>
    (await agents()).every((node) => node === "c"),
  );
  kubelets.mostAtOnce = 0;
  await plane.declare(on, content("again"));
  const next = await plane.untilPublished(on, content("again"));
  assert.ok(next > revision);
  await plane.untilRolledOut(on, next);
  assert.equal(kubelets.mostAtOnce, 1);
  await kubelets.revive("c");
  await until("c has it too", () => kubelets.order(next).includes("c"), { timeout: 150_000 });
});
