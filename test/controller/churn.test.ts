/**
 * A cluster that is never stable: it has 300 nodes, and 600 nodes an hour are replaced. The API
 * server and the DaemonSet controller are real, the kubelets are simulated. bench/ measures the
 * speed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { steer } from "./steer.ts";

const size = 300;
/** Milliseconds between two replacements of a node. */
const everyMilliseconds = 3_600_000 / (2 * size);
/**
 * Milliseconds until the agent of a joining node starts, because its image is pulled first.
 */
const joinMilliseconds = 45_000;
/** Milliseconds until a change or a withdrawal must have begun, and until it must have ended. */
const [begins, ends] = [10_000, 300_000];

let on: plane.Plane;
let kubelets: NodesDriver;
const joined = new Map<string, number>();

before(async () => {
  on = await plane.startPlane();
  // With leases of 2 minutes, 300 nodes renew 10 leases a second.
  kubelets = new NodesDriver(on.api, { leaseSeconds: 120, pace: 500 }).start();
  kubelets.behaviour = (node) =>
    Date.now() - (joined.get(node) ?? 0) < joinMilliseconds ? "never starts" : "ready";
  for (let index = 0; index < size; index += 1) await kubelets.add(`n${index}`);
});
after(async () => {
  await kubelets?.[Symbol.asyncDispose]();
  await on?.[Symbol.asyncDispose]();
});

/**
 * The canary's node. The test does not replace this node, because a canary that disappears counts
 * as failed.
 */
let canary = "";

/** Keeps replacing the oldest node by a new node. */
async function churn(signal: AbortSignal): Promise<number> {
  let at = 0;
  for (; !signal.aborted; at += 1) {
    if (`n${at}` === canary) continue;
    const next = `n${size + at}`;
    joined.set(next, Date.now());
    await Promise.all([kubelets.remove(`n${at}`), kubelets.add(next)]);
    await sleep(everyMilliseconds, undefined, { signal }).catch(() => {});
  }
  return at;
}

const untilBegun = (revision: number) =>
  until(`revision ${revision} begins`, () => kubelets.order(revision).length > 0, {
    timeout: begins,
  });

test("rolls out a change and withdraws on 300 nodes in time while 600 nodes an hour are replaced", async (t) => {
  await steer(on, "10%");
  await using controller = plane.startController(on.kubeconfig);
  const revision = await plane.deployed(on, content("one"));
  const stop = new AbortController();
  const churning = churn(stop.signal);
  churning.catch(() => {});
  try {
    await until("nodes were replaced", () => joined.size > 5);
    let began = performance.now();
    const report = (what: string) =>
      t.diagnostic(`${what}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
    await plane.declare(on, content("two"));
    await untilBegun(revision + 1);
    [canary = ""] = kubelets.order(revision + 1);
    await plane.untilRolledOut(on, revision + 1, ends);
    report("the change");
    // A new node can join before the old node leaves.
    assert.ok(kubelets.mostAtOnce <= size / 10 + 1, `${kubelets.mostAtOnce} nodes at once`);
    assert.ok(!controller.output().includes("RolloutHalted"), "no content failed");

    began = performance.now();
    await on.cluster.kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
    await untilBegun(revision + 2);
    await plane.untilGone(on, ends);
    report("the withdrawal");
  } finally {
    stop.abort();
    t.diagnostic(`${await churning} nodes were replaced`);
  }
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
});
