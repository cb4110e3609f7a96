/**
 * A cluster that is never stable: it has 300 nodes, and 600 nodes an hour are replaced. Their
 * machines die without a word, and a cloud deletes their Nodes. API server, DaemonSet controller
 * and node controller are real and have their stock settings. The kubelets are simulated. bench/
 * measures the speed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Node } from "@kubernetes/client-node";
import { collections } from "#kube/client/paths.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { isRunning, readySince } from "#test/harness/nodes/nodes.ts";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { statusOf, steer, untilCondition } from "./steer.ts";

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
 * Keeps adding a node, and kills the machine of the oldest node. The cloud deletes a Node 5 to 15 s
 * after the node controller has noticed that its machine is dead.
 */
async function churn(signal: AbortSignal): Promise<number> {
  const leaving: Promise<void>[] = [];
  let at = 0;
  for (; !signal.aborted; at += 1) {
    const next = `n${size + at}`;
    joined.set(next, Date.now());
    kubelets.silence(`n${at}`);
    leaving.push(deleteDead(`n${at}`, 5000 + 1000 * (at % 11), signal));
    await kubelets.add(next);
    await sleep(everyMilliseconds, undefined, { signal }).catch(() => {});
  }
  await Promise.all(leaving);
  return at;
}

async function deleteDead(name: string, milliseconds: number, signal: AbortSignal): Promise<void> {
  const isNoticed = async () => {
    const node = await on.api.get<V1Node>(`${collections.nodes}/${name}`);
    return node?.status?.conditions?.some(
      ({ type, status }) => type === "Ready" && status !== "True",
    );
  };
  while (!signal.aborted && (await isNoticed()) !== true)
    await sleep(1000, undefined, { signal }).catch(() => {});
  await sleep(milliseconds, undefined, { signal }).catch(() => {});
  await kubelets.remove(name);
}

/** Waits until an agent has begun with a later revision than this. */
const untilBegun = (former: number) =>
  until(
    "the next revision begins",
    () => kubelets.starts.some(({ revision }) => revision > former),
    { timeout: begins },
  );

/** Waits until all running agents have this document. Some nodes join at every moment. */
const untilEveryNodeHas = (document: string) =>
  until(
    "every running agent has the document",
    () =>
      kubelets.model.nodes
        .filter((node) => isRunning(node) && node.pods.some((pod) => readySince(pod) !== undefined))
        .every(({ applied }) => applied === document),
    { timeout: ends },
  );

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
    await untilBegun(revision);
    const changed = await plane.untilPublished(on, content("two"));
    await untilEveryNodeHas(content("two"));
    await until(
      "status reports it",
      async () => (await statusOf(on)).revision?.inForce === changed,
      { timeout: ends, seen: () => statusOf(on) },
    );
    await untilCondition(on, "Ready", "True", "InForce", ends);
    report("the change");
    // 10 % of the Nodes, of which some have dead machines that are not noticed yet.
    assert.ok(kubelets.mostAtOnce <= size / 10 + 3, `${kubelets.mostAtOnce} nodes at once`);

    began = performance.now();
    await on.cluster.kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
    await untilBegun(changed);
    await plane.untilGone(on, ends);
    report("the withdrawal");
  } finally {
    stop.abort();
    t.diagnostic(`${await churning} nodes were replaced`);
  }
  assert.ok(!controller.output().includes("RolloutHalted"), "good content never halts");
  const alive = kubelets.model.nodes.filter((node) => isRunning(node));
  assert.ok(alive.every(({ applied }) => applied === undefined));
});
