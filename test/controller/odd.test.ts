/**
 * Rollouts with nodes that fail, are unfit, frozen or unreachable, or cannot start the agent, with
 * the real DaemonSet controller and simulated kubelets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import {
  begunAfter,
  kubelets,
  names,
  on,
  published,
  rig,
  served,
  start,
  started,
  undeclare,
} from "./rig.ts";
import { content, paths } from "./plane.ts";
import { statusOf, untilCondition } from "./steer.ts";

rig();

const failure = "GPS218 kubelet.service did not come back";
const retry = () =>
  on.cluster.kubectl(
    "annotate",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "globalpullsecret.io/retry=now",
  );

/** Waits until status lists a failure with this message, of this node if one is given. */
async function untilListed(message: RegExp, node?: string): Promise<void> {
  const failures = async () => (await statusOf(on)).failures ?? [];
  await until(
    "status lists the node",
    async () => {
      const [failure] = await failures();
      return message.test(failure?.message ?? "") && (node ?? failure?.node) === failure?.node;
    },
    { seen: failures },
  );
}

/**
 * Declares a second content that fails on its first node, so the rollout halts. Returns the
 * revision of this content.
 */
async function halted(): Promise<number> {
  const before = await served("60%");
  kubelets.behaviour = (_, revision) => (revision > before ? failure : "ready");
  const bad = await published("bad");
  const event = await plane.untilEvent(on, "RolloutHalted", "GPS305", 120_000);
  assert.match(event.message, new RegExp(`${bad} failed on 1 node \\([a-c]\\), so no other`));
  assert.equal(started(bad), 1);
  return bad;
}

test("when content fails on its first node, asks no other node, serves joining nodes the former content, and replaces no pod", async () => {
  const bad = await halted();
  const uids = async () => (await plane.agents(on)).map(({ metadata }) => metadata?.uid);
  const before = await uids();
  await untilListed(/^GPS218 kubelet\.service did not come back/);
  await kubelets.add("late");
  await until("a joining node has the content that was served before", () =>
    kubelets.model.nodes.some(({ name, applied }) => name === "late" && applied === content("one")),
  );
  await stays("no other node is asked", () => started(bad) === 1, 3000);
  const after = await uids();
  assert.ok(before.every((uid) => after.includes(uid)));
});

test("rolls out corrected content after a halt", async () => {
  const bad = await halted();
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, await published("corrected"));
  assert.equal(started(bad), 1);
});

test("rolls out the same content when a user requests a retry after a halt", async () => {
  const bad = await halted();
  kubelets.behaviour = () => "ready";
  await retry();
  await plane.untilRolledOut(on, bad);
  assert.deepEqual([...new Set(kubelets.order(bad))].toSorted(), names);
  assert.equal(started(bad), names.length + 1, "the failed node is asked again");
  assert.equal((await plane.published(on))?.document, content("bad"));
});

test("removes everything from every node when the Secret is withdrawn after a halt", async () => {
  const bad = await halted();
  await undeclare();
  await plane.untilGone(on);
  assert.deepEqual(begunAfter(bad), names);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
});

test("delays neither a change nor a removal on the other nodes while one node is unfit", async () => {
  await kubelets.add("odd");
  kubelets.behaviour = (node) => (node === "odd" ? "refuses" : "ready");
  await served(1);
  const revision = await published("two");
  const message = await plane.untilRolledOut(on, revision);
  assert.match(message, /is on 3 of 4 nodes .*: odd$/);
  assert.deepEqual(kubelets.order(revision).toSorted(), [...names, "odd"]);
  await untilListed(/^GPS206 config\.json is a symbolic link/, "odd");
  assert.equal(kubelets.mostAtOnce, 1);
  await undeclare();
  await plane.untilGone(on);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
});

test("removes the entries of the other nodes at once while one agent is frozen", async () => {
  const revision = await served(1);
  kubelets.behaviour = (node) => (node === "b" ? "hangs" : "ready");
  await undeclare();
  await until("the other nodes have removed them", () => begunAfter(revision).join() === "a,c", {
    timeout: 10_000,
  });
  assert.notEqual(await on.api.get(paths.daemonSet), undefined);
  kubelets.behaviour = () => "ready";
  await plane.untilGone(on);
  assert.deepEqual(begunAfter(revision), names);
});

test("does not delay a rollout while a node is unreachable, and serves the node when it returns", async () => {
  await served(1);
  await kubelets.die("b");
  const revision = await published("two");
  const message = await plane.untilRolledOut(on, revision);
  assert.match(message, /is on 2 of 3 nodes .* without it: b$/);
  assert.ok(!kubelets.order(revision).includes("b"));
  await kubelets.revive("b");
  await until("node b has the revision", () => kubelets.order(revision).includes("b"));
});

test("asks nothing and reports it while the admission policy is missing that makes reports a proof", async () => {
  const binding = ["validatingadmissionpolicybinding", "global-pull-secret-nodes"];
  const { metadata, ...object } = JSON.parse(
    await on.cluster.kubectl("get", ...binding, "-o", "json"),
  ) as { metadata: { labels: object } };
  const { labels } = metadata;
  const restored = { ...object, metadata: { name: "global-pull-secret-nodes", labels } };
  await on.cluster.kubectl("delete", ...binding);
  try {
    await start("100%");
    const revision = await published("one");
    await untilCondition(on, "Stalled", "True", "PolicyMissing");
    await plane.untilEvent(on, "PolicyMissing");
    assert.deepEqual(kubelets.starts, []);
    assert.equal((await plane.published(on))?.served, 0);
    await on.cluster.apply(restored);
    await plane.untilRolledOut(on, revision);
  } finally {
    await on.cluster.apply(restored);
  }
});

test("lists a node that cannot start the agent, with the kubelet's reason, and delays no other node", async () => {
  await kubelets.add("stuck");
  kubelets.behaviour = (node) => (node === "stuck" ? "never starts" : "ready");
  await start(1);
  await plane.declare(on, content("one"));
  await until("all other nodes have the content", () =>
    kubelets.model.nodes.every(
      ({ name, applied }) => name === "stuck" || applied === content("one"),
    ),
  );
  await untilCondition(on, "Ready", "True", "InForce");
  const condition = await untilCondition(on, "NodesLeftOut", "True", undefined, 120_000);
  assert.match(condition.message, /stuck/);
  await untilListed(/^GPS336 the node's agent does not start: ImagePullBackOff$/, "stuck");
  kubelets.behaviour = () => "ready";
  await until("every node has the content once its agent starts", () =>
    kubelets.model.nodes.every(({ applied }) => applied === content("one")),
  );
});

test("is Stalled and quotes the kubelet's reason when no node can start the agent", async () => {
  kubelets.behaviour = () => "never starts";
  await start(1);
  await plane.declare(on, content("one"));
  const condition = await untilCondition(on, "Stalled", "True", "NoNodeCanBeServed", 150_000);
  assert.match(
    condition.message,
    /[abc]: GPS336 the node's agent does not start: ImagePullBackOff/,
  );
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("one")));
  await untilCondition(on, "Ready", "True", "InForce");
});

for (const share of [34, 60])
  test(`does not delay a withdrawal on the other nodes when ${share} % of the nodes are away`, async () => {
    for (const name of ["d", "e"]) await kubelets.add(name);
    const revision = await served("20%");
    const away = ["d", "e", "c"].slice(0, Math.ceil((share * 5) / 100));
    for (const name of away) await kubelets.die(name);
    await undeclare();
    const others = ["a", "b", "c", "d", "e"].filter((name) => !away.includes(name));
    await until(
      "the others have removed everything",
      () =>
        kubelets.model.nodes.every(
          ({ name, applied }) => away.includes(name) || applied === undefined,
        ),
      { timeout: 120_000 },
    );
    assert.deepEqual(begunAfter(revision), others);
    for (const name of away) await kubelets.revive(name);
    await plane.untilGone(on);
    assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
  });
