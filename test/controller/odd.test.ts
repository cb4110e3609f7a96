/**
 * Rollouts with nodes that fail, are unfit or unreachable, or cannot start the agent, with the real
 * DaemonSet controller and simulated kubelets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { kubelets, names, on, rig, served, start, started, undeclare, untilReady } from "./rig.ts";
import { content } from "./plane.ts";
import { statusOf, untilCondition } from "./steer.ts";

rig();

const failure = "GPS203 kubelet.service did not come back";
const retry = () =>
  on.cluster.kubectl(
    "annotate",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "globalpullsecret.io/retry=now",
  );

/**
 * Declares a second content that fails on its first node, so the rollout halts. Returns the
 * revision of this content.
 */
async function halted(): Promise<number> {
  const bad = (await served("60%")) + 1;
  kubelets.behaviour = (_, revision) => (revision === bad ? failure : "ready");
  await plane.declare(on, content("bad"));
  const event = await plane.untilEvent(on, "RolloutHalted", "GPS203", 120_000);
  assert.match(event.message, /failed on 1 node and no other node gets it: [a-c]: GPS203/);
  assert.equal(started(bad), 1);
  return bad;
}

test("when content fails on its first node, grants it to no other node, revokes the failed node's grant, and replaces no pod", async () => {
  const bad = await halted();
  const uids = async () => (await plane.agents(on)).map(({ metadata }) => metadata?.uid);
  const before = await uids();
  await until("the grant is taken back", async () =>
    [...(await plane.grants(on)).values()].includes(0),
  );
  await kubelets.add("late");
  await until("a joining node has the content that was served before", () =>
    kubelets.model.nodes.some(
      ({ name, journal }) => name === "late" && journal?.revision === bad - 1,
    ),
  );
  await stays("no other node gets it", () => started(bad) === 1, 3000);
  const after = await uids();
  assert.ok(before.every((uid) => after.includes(uid)));
  assert.ok(![...(await plane.grants(on)).values()].includes(bad));
});

test("rolls out corrected content after a halt", async () => {
  const bad = await halted();
  await plane.declare(on, content("corrected"));
  await plane.untilRolledOut(on, bad + 1);
  assert.equal(started(bad), 1);
});

test("rolls out the same content when a user requests a retry after a halt, and begins with the node that failed", async () => {
  const bad = await halted();
  kubelets.behaviour = () => "ready";
  await retry();
  await plane.untilRolledOut(on, bad);
  const [failed, again] = kubelets.order(bad);
  assert.equal(again, failed);
  assert.equal((await plane.published(on))?.document, content("bad"));
});

test("removes everything from every node when the Secret is withdrawn after a halt", async () => {
  const bad = await halted();
  await undeclare();
  await plane.untilGone(on);
  assert.deepEqual(kubelets.order(bad + 1).toSorted(), names);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
});

test("delays neither a change nor a removal on the other nodes while one node is unfit", async () => {
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
  // For a minute the controller waits for the unfit node to recover. Meanwhile the controller
  // serves the other nodes, so each gap between two kubelet starts is shorter.
  const starts = kubelets.starts.filter((start) => start.revision === revision + 1);
  const times = [...starts.map(({ at }) => at), Date.now()].toSorted((a, b) => a - b);
  const longest = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
  assert.ok(longest < 60_000, `${longest} ms from one to the next`);
  await undeclare();
  await until(
    "the other nodes have removed the entries",
    () => names.every((node) => kubelets.order(revision + 2).includes(node)),
    {
      timeout: 150_000,
    },
  );
  assert.equal(kubelets.mostAtOnce, 1);
  kubelets.behaviour = () => "ready";
  await plane.untilGone(on);
  await kubelets.remove("odd");
});

test("does not delay a rollout while a node is unreachable, and serves the node when it returns", async () => {
  const revision = await served(1);
  await untilReady();
  await kubelets.die("b");
  await plane.declare(on, content("two"));
  const message = await plane.untilRolledOut(on, revision + 1);
  assert.match(message, /is on 2 of 3 nodes .* not served yet: b$/);
  assert.ok(!kubelets.order(revision + 1).includes("b"));
  await kubelets.revive("b");
  await until("node b has the revision", () => kubelets.order(revision + 1).includes("b"));
});

test("lists a node that cannot start the agent, with the kubelet's reason, and delays no other node", async () => {
  await kubelets.add("stuck");
  kubelets.behaviour = (node) => (node === "stuck" ? "never starts" : "ready");
  await served(1);
  const condition = await untilCondition(on, "NodesLeftOut", "True", undefined, 120_000);
  assert.match(condition.message, /stuck/);
  const [failure] = (await statusOf(on)).failures ?? [];
  assert.equal(failure?.node, "stuck");
  assert.equal(failure.message, "GPS336 the node's agent does not start: ImagePullBackOff");
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
  await plane.untilRolledOut(on, 1);
  await untilCondition(on, "Ready", "True", "InForce");
});

for (const share of [34, 60])
  test(`does not delay a withdrawal on the other nodes when ${share} % of the nodes are away`, async () => {
    for (const name of ["d", "e"]) await kubelets.add(name);
    const revision = await served("20%");
    const away = ["d", "e", "c"].slice(0, Math.ceil((share * 5) / 100));
    await untilReady();
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
    assert.deepEqual(kubelets.order(revision + 1).toSorted(), others);
    for (const name of away) await kubelets.revive(name);
    await plane.untilGone(on);
    assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
  });
