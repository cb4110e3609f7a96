/**
 * An upgrade from the last release. The release's controller is built from its own sources and
 * serves three nodes. Then this checkout's controller takes over. The API server and the DaemonSet
 * controller are real, the kubelets and agents are simulated.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { V1DaemonSet, V1Pod, V1Secret } from "@kubernetes/client-node";
import { digestAnnotation, revisionAnnotation, sinceAnnotation } from "#contract/names.ts";
import { annotations } from "#controller/objects/annotations.ts";
import { lastRelease } from "#tools/definition/last-release.ts";
import { agent } from "#test/harness/nodes/agent.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { type Agent, NodesModel } from "#test/harness/nodes/nodes.ts";
import { until } from "../cluster/await.ts";
import { buildLastRelease } from "../cluster/kit/last-release.ts";
import { startProgram } from "../cluster/program.ts";
import * as plane from "./plane.ts";
import { document, paths } from "./plane.ts";
import { steer, untilCondition } from "./steer.ts";

let on: plane.Plane;
let kubelets: NodesDriver;
/** The folder of the last release. */
let last: string;
const names = ["a", "b", "c"];
const content = (word: string) => document({ "quay.io": `robot:${word}` });

/**
 * Simulates agents of both versions. An agent of the last release applies the revision in its pod's
 * template.
 */
const either: Agent = (node, pod, how) => {
  if (pod.annotations[annotations.mode] !== undefined) return agent(node, pod, how);
  const revision = Number(pod.annotations[revisionAnnotation]);
  if (revision > 0 && node.journal?.revision !== revision) {
    const applied = how.mounted.secret[".dockerconfigjson"] ?? "";
    node.applied = applied;
    node.journal = { revision, digest: pod.annotations[digestAnnotation] ?? "" };
    node.restarts.push(applied);
  }
  return "ready";
};

before(async () => {
  [on, last] = await Promise.all([plane.startPlane(), buildLastRelease()]);
  kubelets = new NodesDriver(on.api, { model: new NodesModel(either) }).start();
  for (const name of names) await kubelets.add(name);
});
after(async () => {
  await kubelets?.[Symbol.asyncDispose]();
  await on?.[Symbol.asyncDispose]();
});

/**
 * Starts the last release's controller with an administrator's rights, because this controller
 * needs other rights than ours.
 */
const startLast = () =>
  startProgram([
    process.execPath,
    join(last, "dist/controller.cjs"),
    `--kubeconfig=${on.cluster.kubeconfig}`,
    "--agent-image=example.invalid/global-pull-secret:last",
    "--listen=127.0.0.1:0",
  ]);

const uidOf = ({ metadata }: V1Pod) => metadata?.uid ?? "";
const restarts = () => kubelets.model.nodes.map(({ name, restarts: its }) => [name, its.length]);

test(`replaces each pod once and restarts no kubelet in an upgrade from ${lastRelease.version}`, async () => {
  await steer(on, 1);
  const former = startLast();
  await plane.declare(on, content("one"));
  const revision = await plane.untilPublished(on, content("one"));
  await plane.untilEvent(on, "RolledOut", `revision ${revision} is on`, 180_000);
  await former.stop();
  const old = await plane.agents(on);
  assert.equal(old.length, names.length);
  for (const { metadata } of old)
    assert.equal(metadata?.annotations?.[revisionAnnotation], String(revision));
  const before = restarts();
  const since = new Date().toISOString();

  const known = new Set(old.map(uidOf));
  let most = 0;
  await using controller = plane.startController(on.kubeconfig);
  await until(
    "every pod is a new one, and has its grant",
    async () => {
      const now = await plane.agents(on);
      for (const pod of now) known.add(uidOf(pod));
      const isReady = ({ status }: V1Pod) =>
        status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ===
        true;
      most = Math.max(most, names.length - now.filter(isReady).length);
      const isDone = (pod: V1Pod) =>
        isReady(pod) &&
        pod.metadata?.annotations?.[annotations.mode] !== undefined &&
        pod.metadata.annotations[revisionAnnotation] === String(revision) &&
        pod.metadata.annotations[sinceAnnotation] !== undefined;
      return now.length === names.length && now.every(isDone);
    },
    { timeout: 180_000, seen: () => plane.grants(on) },
  );
  assert.equal(known.size, 2 * names.length, "a pod was replaced twice");
  // One pod is being replaced, and one new pod has not applied its grant yet.
  assert.ok(most <= 2, `${most} nodes without a Ready agent`);
  assert.deepEqual(restarts(), before);
  const oldNames = new Set(old.map(({ metadata }) => metadata?.name));
  const patched = plane
    .requests(on, since)
    .filter(
      ({ verb, resource, name }) => verb === "patch" && resource === "pods" && oldNames.has(name),
    );
  assert.deepEqual(patched, [], "a pod of the last release got a grant");

  const published = await plane.published(on);
  assert.deepEqual([published?.revision, published?.served], [revision, revision]);
  const { spec } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
  assert.deepEqual(spec?.updateStrategy, { type: "OnDelete" });
  // A pod with these annotations or variables would start as if it had a grant.
  for (const name of [revisionAnnotation, digestAnnotation])
    assert.equal(spec?.template.metadata?.annotations?.[name], undefined);
  const [container] = spec?.template.spec?.containers ?? [];
  assert.ok(!(container?.env ?? []).some(({ name }) => /REVISION|DIGEST/.test(name)));
  await untilCondition(on, "Ready", "True", "InForce");

  // A change and a removal also work with the data that the last release recorded.
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, revision + 1);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === content("two")));
  await plane.clear(on);
  assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
  assert.equal(await on.api.get<V1Secret>(paths.global), undefined);
  assert.equal(await controller.stop(), 0);
});
