/**
 * How revisions pass nodes that fail, are unfit, unreachable or flicker, with the real DaemonSet
 * controller and fake kubelets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { longTest } from "../sample.ts";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import {
  content,
  kubelets,
  names,
  on,
  rig,
  served,
  started,
  undeclare,
  untilIntent,
} from "./rig.ts";

rig();

test("a revision that fails stops at its first node, is told with the agent's last words, and gives way to a changed one", async () => {
  const good = await served("60%");
  kubelets.behaviour = (_, revision) =>
    revision === good + 1 ? "GPS203 kubelet.service did not come back" : "ready";
  await plane.declare(on, content("bad"));
  const event = await plane.untilEvent(on, "RolloutHalted", "GPS203", 120_000);
  assert.match(event.message, /stopped at 1 node: [a-c]: GPS203 kubelet.service did not come back/);
  assert.equal(started(good + 1), 1);
  await untilIntent("hold");
  await plane.declare(on, content("corrected"));
  await plane.untilRolledOut(on, good + 3);
  assert.equal(started(good + 1), 1);
});

longTest(
  "what halted is held: joiners and replaced agents get the last good document, and an asked-for retry tries again",
  async () => {
    const good = await served(1);
    kubelets.behaviour = (_, revision) =>
      revision === good + 1 ? "GPS203 kubelet.service did not come back" : "ready";
    await plane.declare(on, content("bad"));
    await untilIntent("hold");
    const held = await plane.published(on);
    assert.deepEqual([held?.revision, held?.document], [good + 2, content("one")]);
    await until("every node is told to keep what it has", () => started(good + 2) === names.length);
    const mostBefore = started(good + 1);
    await kubelets.add("late");
    await until("a joiner is told so as well", () => kubelets.order(good + 2).includes("late"));
    await on.cluster.kubectl(
      "delete",
      "pod",
      "-n",
      "kube-system",
      "-l",
      "name=global-pull-secret-syncer",
      "--wait=false",
    );
    await until("and so are replaced agents", () => started(good + 2) >= 2 * names.length + 1);
    assert.deepEqual([started(good + 1), mostBefore], [1, 1]);
    kubelets.behaviour = () => "ready";
    const retry = [
      "annotate",
      "secret",
      "additional-pull-secret",
      "-n",
      "kube-system",
      "globalpullsecret.io/retry=now",
    ];
    await on.cluster.kubectl(...retry);
    await plane.untilRolledOut(on, good + 3);
    assert.equal((await plane.published(on))?.document, content("bad"));
    await kubelets.remove("late");
  },
);

test("a node that is unfit holds up neither a change nor a removal: the three others get both without waiting for it", async () => {
  await kubelets.add("odd");
  kubelets.behaviour = (node) => (node === "odd" ? "refuses" : "ready");
  const revision = await served(1);
  await plane.declare(on, content("two"));
  const message = await plane.untilRolledOut(on, revision + 1, 150_000);
  assert.match(message, /is on 3 of 4 nodes .*: odd$/);
  assert.deepEqual(
    kubelets
      .order(revision + 1)
      .filter((node) => node !== "odd")
      .toSorted(),
    names,
  );
  // For a minute the odd one might still become well: no other waits for that.
  const starts = kubelets.starts.filter((start) => start.revision === revision + 1);
  const times = [...starts.map(({ at }) => at), Date.now()].toSorted((a, b) => a - b);
  const longest = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
  assert.ok(longest < 60_000, `${longest} ms from one to the next`);
  await undeclare();
  await until(
    "they have given back",
    () => names.every((node) => kubelets.order(revision + 2).includes(node)),
    {
      timeout: 150_000,
    },
  );
  assert.equal(kubelets.mostAtOnce, 2, "the odd one and another");
  kubelets.behaviour = () => "ready";
  await plane.untilGone(on);
  await kubelets.remove("odd");
});

test("a Ready that flickers, as after a kubelet's restart, is counted as soon as it may: the DaemonSet is looked at again", async () => {
  const revision = await served(1);
  const nudged = async () =>
    (await on.api.get<V1DaemonSet>(paths.daemonSet))?.metadata?.annotations?.[
      "globalpullsecret.io/nudged"
    ] ?? "";
  const before = await nudged();
  const since = new Map<string, number>();
  kubelets.behaviour = (node, of) => {
    if (of <= revision) return "ready";
    if (!since.has(node)) since.set(node, Date.now());
    const age = Date.now() - (since.get(node) ?? 0);
    // Longer than the second to which Kubernetes rounds the time of a Ready.
    return age > 100 && age < 1300 ? "hangs" : "ready";
  };
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, revision + 1);
  assert.notEqual(await nudged(), before);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("an unreachable node neither eats the budget nor holds up rollout and removal, and catches up when it returns", async () => {
  const revision = await served(1);
  await kubelets.die("b");
  await plane.declare(on, content("two"));
  const message = await plane.untilRolledOut(on, revision + 1);
  assert.match(message, /is on 2 of 3 nodes .* served when they return: b$/);
  assert.ok(!kubelets.order(revision + 1).includes("b"));
  await kubelets.revive("b");
  await until("b has it", () => kubelets.order(revision + 1).includes("b"));
});
