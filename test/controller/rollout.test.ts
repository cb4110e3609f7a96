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
  published,
  replaceController,
  restarts,
  rig,
  served,
  servedForLong,
  start,
  uids,
  undeclare,
  unready,
  untilReplaced,
} from "./rig.ts";
import { content } from "./plane.ts";
import { untilAvailable, untilCondition } from "./steer.ts";

rig();

const maxUnavailableOf = (daemonSet: V1DaemonSet | undefined) =>
  daemonSet?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable;
const podHashes = () => kubelets.model.nodes.flatMap(({ pods }) => pods.map(({ hash }) => hash));
/** The nodes that have this content. */
const servedBy = (word: string) =>
  kubelets.model.nodes.filter(({ applied }) => applied === content(word));
test("asks one node first, and the other nodes one by one with a budget of 1", async () => {
  await start(1);
  const revision = await deployed();
  assert.deepEqual(kubelets.order(revision).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("reports a source that changes too often, with its writer, and publishes its seventh content later", async () => {
  await start("100%");
  for (let count = 1; count <= 6; count += 1) await published(`word-${count}`);
  await plane.declare(on, content("seventh"));
  const { message } = await plane.untilEvent(on, "SourceFlapping");
  assert.match(message, /additional-pull-secret \(test\)/);
  await untilCondition(on, "Reconciling", "True", "SourceFlapping");
  assert.equal((await plane.published(on))?.document, content("word-6"));
  await undeclare();
  await plane.untilGone(on);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
});

test("finishes a rollout and a withdrawal when the controller is killed at random moments", (context) =>
  killedAtRandom(context, 2));

test("upgrades the agents one after another, and restarts no kubelet", async () => {
  const revision = await servedForLong();
  const [before, former] = [await uids(), restarts()];
  await replaceController("--agent-requests", "memory=33Mi");
  await untilReplaced(before);
  assert.deepEqual(restarts(), former);
  assert.equal((await plane.published(on))?.revision, revision);
});

test("stops an upgrade at one pod if the new agent dies, and delivers content meanwhile", async () => {
  await servedForLong();
  const [before, hashes] = [await uids(), new Set(podHashes())];
  kubelets.model.behaviour = (_, { hash }) => (hashes.has(hash) ? "ready" : "crashes");
  await replaceController("--agent-requests", "memory=33Mi");
  await until("the first new agent has died", () => unready() === 1, { timeout: 60_000 });
  await plane.declare(on, content("two"));
  const isStopped = async () => (await uids()).filter((uid) => !before.includes(uid)).length <= 1;
  await stays("no other pod is replaced", isStopped, 60_000);
  await until("all other nodes have the content", () => servedBy("two").length >= 2);
});

test("removes a label and a node selector when the installer no longer sets them, and restarts no kubelet", async () => {
  const account = ["serviceaccount/global-pull-secret-controller", "-n", "kube-system"];
  const label = "globalpullsecret.io/agent-label";
  await on.cluster.kubectl("annotate", ...account, "--overwrite", `${label}=team=a`);
  await start("100%", "--agent-label=team=a", "--agent-node-selector=pool!=gpu");
  await deployed();
  const isLabelled = ({ metadata }: V1Pod) => metadata?.labels?.["team"] === "a";
  assert.ok((await plane.agents(on)).every(isLabelled));
  await untilAvailable(on);
  const [before, former] = [await uids(), restarts()];
  await on.cluster.kubectl("annotate", ...account, `${label}-`);
  await replaceController("--agent-node-selector=");
  await untilReplaced(before);
  assert.ok(!(await plane.agents(on)).some(isLabelled));
  assert.deepEqual(restarts(), former);
  const live = async () => await on.api.get<V1DaemonSet>(plane.paths.daemonSet);
  const { spec } = (await live()) ?? {};
  assert.equal(spec?.template.metadata?.labels?.["team"], undefined);
  const { nodeAffinity } = spec?.template.spec?.affinity ?? {};
  assert.equal(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution, undefined);
  await until("the budget is 1 again", async () => maxUnavailableOf(await live()) === 1);
  const generation = (await live())?.metadata?.generation;
  await stays(
    "the DaemonSet is not written again",
    async () => (await live())?.metadata?.generation === generation,
    4000,
  );
});

test("lets kubectl rollout restart replace the pods, and restarts no kubelet", async () => {
  await servedForLong();
  const [before, former] = [await uids(), restarts()];
  const daemonSet = "daemonset/global-pull-secret-syncer";
  await on.cluster.kubectl("rollout", "restart", daemonSet, "-n", "kube-system");
  await untilReplaced(before);
  assert.deepEqual(restarts(), former);
});

test("starts no agent when nothing changed", async () => {
  await served();
  const count = kubelets.starts.length;
  await stays("no agent starts", () => kubelets.starts.length === count, 4000);
});
