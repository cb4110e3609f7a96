/** How revisions reach nodes, with the real DaemonSet controller and simulated kubelets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Pod } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { killedAtRandom } from "./killed.ts";
import * as plane from "./plane.ts";
import {
  deployed,
  kubelets,
  names,
  on,
  rig,
  running,
  served,
  start,
  started,
  unready,
  untilReady,
} from "./rig.ts";
import { content } from "./plane.ts";

rig();

const uids = async () =>
  (await plane.agents(on)).map(({ metadata }) => metadata?.uid ?? "").toSorted();

test("grants the first revision to one node, and after this node's proof to the other nodes one by one", async () => {
  await start(1);
  await deployed();
  assert.deepEqual(kubelets.order(1).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
  const [canary] = kubelets.order(1);
  const proved = (await plane.agents(on)).flatMap(({ spec, status }) =>
    status?.containerStatuses?.[0]?.lastState?.terminated ? [spec?.nodeName] : [],
  );
  assert.deepEqual(proved, [canary], "only the canary ends its container to prove the revision");
});

test("grants a revision to several nodes at once after the canary's proof, and replaces no pod", async () => {
  const before = await served("60%");
  const pods = await uids();
  let alone = 0;
  kubelets.behaviour = (_, revision) => {
    if (revision === before + 1 && started(revision) === 1)
      alone = Math.max(alone, kubelets.atWork);
    return "ready";
  };
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, before + 1);
  assert.ok(alone <= 1);
  assert.ok(kubelets.mostAtOnce <= 2);
  assert.deepEqual(await uids(), pods);
});

test("delivers the last of several quick changes, and never rolls out two revisions at once", async () => {
  await served(1);
  for (const word of ["two", "three", "four", "five"]) await plane.declare(on, content(word));
  // The controller publishes "five" only after "two" is on all three nodes, one after another.
  const last = await plane.untilPublished(on, content("five"), 60_000);
  await plane.untilRolledOut(on, last);
  assert.ok(last <= 3, `${last} revisions`);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("repairs an edit of global-pull-secret within seconds in the middle of a rollout", async () => {
  const before = await served(1);
  await plane.declare(on, content("two"));
  await until("the rollout is at its first node", () => started(before + 1) === 1);
  const data = { ".dockerconfigjson": Buffer.from(content("evil")).toString("base64") };
  const patch = JSON.stringify({ data });
  await on.cluster.kubectl(
    "patch",
    "secret",
    "global-pull-secret",
    "-n",
    "kube-system",
    "-p",
    patch,
  );
  const repaired = async () => (await plane.published(on))?.document === content("two");
  await until("the Secret is repaired", repaired, { timeout: 10_000 });
  await plane.untilRolledOut(on, (await plane.published(on))?.revision ?? 0);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === content("two")));
});

test("gives a node that joins during the canary's probation the served content first, and later the newest content", async () => {
  const before = await served(1);
  let isHeld = true;
  kubelets.behaviour = (_, revision) => (isHeld && revision === before + 1 ? "hangs" : "ready");
  await plane.declare(on, content("two"));
  await until("the canary has its grant", () => started(before + 1) === 1);
  await kubelets.add("late");
  const late = () => kubelets.model.nodes.find(({ name }) => name === "late");
  await until(
    "the joining node has the content served before",
    () => late()?.applied === content("one"),
  );
  assert.equal(started(before + 1), 1);
  isHeld = false;
  await until("the joining node has the newest content", () => late()?.applied === content("two"), {
    timeout: 60_000,
  });
});

test("finishes a rollout and a withdrawal when the controller is killed at random moments", (context) =>
  killedAtRandom(context, 2));

async function rested() {
  await untilReady();
  return uids();
}

/**
 * The largest number of nodes without a Ready agent while maxUnavailable is 1: one pod is being
 * replaced, and one new pod has not applied its grant yet.
 */
const mostUnready = 2;

/**
 * Waits until every agent's pod is replaced. Returns the largest number of nodes that had no Ready
 * agent at the same time.
 */
async function replaced(before: readonly string[]): Promise<number> {
  let most = 0;
  await until("every pod was replaced", async () => {
    const now = await uids();
    most = Math.max(most, unready());
    return (
      unready() === 0 && now.length === names.length && !now.some((uid) => before.includes(uid))
    );
  });
  return most;
}

test("replaces pods within maxUnavailable and restarts no kubelet when the agent is upgraded", async () => {
  const revision = await served(1);
  const before = await rested();
  const restarts = () => kubelets.model.nodes.map((node) => node.restarts.length);
  const former = restarts();
  await start(1, "--agent-requests", "memory=33Mi");
  // Stops the first controller, which then releases the Lease.
  const [first] = running.splice(0, 1);
  await first?.stop();
  assert.ok((await replaced(before)) <= mostUnready);
  assert.deepEqual(restarts(), former);
  assert.equal((await plane.published(on))?.revision, revision);
});

test("removes a label and a node selector when the installer no longer sets them, and restarts no kubelet", async () => {
  const account = ["serviceaccount/global-pull-secret-controller", "-n", "kube-system"];
  const label = "globalpullsecret.io/agent-label";
  await on.cluster.kubectl("annotate", ...account, "--overwrite", `${label}=team=a`);
  await served(1, "--agent-label=team=a", "--agent-node-selector=pool!=gpu");
  const isLabelled = ({ metadata }: V1Pod) => metadata?.labels?.["team"] === "a";
  await until("every pod has the label", async () => {
    const pods = await plane.agents(on);
    return pods.length === names.length && pods.every(isLabelled);
  });
  const before = await rested();
  const restarts = () => kubelets.model.nodes.map((node) => node.restarts.length);
  const former = restarts();
  await on.cluster.kubectl("annotate", ...account, `${label}-`);
  await start(1, "--agent-node-selector=");
  // Stops the first controller, which then releases the Lease.
  const [first] = running.splice(0, 1);
  await first?.stop();
  assert.ok((await replaced(before)) <= mostUnready);
  assert.ok(!(await plane.agents(on)).some(isLabelled));
  assert.deepEqual(restarts(), former);
  const live = async () => await on.api.get<V1DaemonSet>(plane.paths.daemonSet);
  const { metadata, spec } = (await live()) ?? {};
  assert.equal(spec?.template.metadata?.labels?.["team"], undefined);
  const { nodeAffinity } = spec?.template.spec?.affinity ?? {};
  assert.equal(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution, undefined);
  await stays(
    "the DaemonSet is not written again",
    async () => (await live())?.metadata?.generation === metadata?.generation,
    4000,
  );
});

test("replaces pods within maxUnavailable and restarts no kubelet after kubectl rollout restart", async () => {
  await served(1);
  const before = await rested();
  const restarts = () => kubelets.model.nodes.map((node) => node.restarts.length);
  const former = restarts();
  const daemonSet = "daemonset/global-pull-secret-syncer";
  await on.cluster.kubectl("rollout", "restart", daemonSet, "-n", "kube-system");
  assert.ok((await replaced(before)) <= mostUnready);
  assert.deepEqual(restarts(), former);
});

test("starts no agent when nothing changed", async () => {
  await served();
  const count = kubelets.starts.length;
  await stays("no agent starts", () => kubelets.starts.length === count, 4000);
});
