/**
 * Rollouts with nodes that fail or cannot start the agent, with the real DaemonSet controller and
 * simulated kubelets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { kubelets, on, published, rig, served, start, started } from "./rig.ts";
import { content } from "./plane.ts";
import { statusOf, untilCondition } from "./steer.ts";

rig();

const failure = "GPS218 kubelet.service did not come back";

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

test("when content fails on its first node, asks no other node, serves joining nodes the former content, and replaces no pod", async () => {
  const former = await served("60%");
  kubelets.behaviour = (_, revision) => (revision > former ? failure : "ready");
  const bad = await published("bad");
  const event = await plane.untilEvent(on, "RolloutHalted", "GPS305", 120_000);
  assert.match(event.message, new RegExp(`${bad} failed on 1 node \\([a-c]\\), so no other`));
  assert.equal(started(bad), 1);
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
