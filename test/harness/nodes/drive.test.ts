/** The driver on the fake API server, with a fake clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Node, V1Pod } from "@kubernetes/client-node";
import {
  agentLabels,
  agentName,
  namespace,
  revisionAnnotation,
  sinceAnnotation,
} from "#contract/names.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { FakeApi } from "../api/api.ts";
import { directly } from "../api/direct.ts";
import { Store } from "../api/store.ts";
import { NodesDriver } from "./drive.ts";

const daemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: agentName, namespace },
  spec: {
    minReadySeconds: 3,
    updateStrategy: { type: "OnDelete" },
    template: {
      metadata: { labels: agentLabels },
      spec: { containers: [{ name: "agent", image: "x" }] },
    },
  },
};
const owner = { manager: "test", force: true };

async function played(...names: string[]) {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const api = directly(new FakeApi(new Store(() => new Date(now))), "test");
  const nodes = new NodesDriver(api, { daemonSets: true, clock: () => now });
  for (const name of names) await nodes.add(name);
  await api.apply(owned.daemonSet, daemonSet, owner);
  const pods = async () => {
    const all: V1Pod[] = [];
    await api.pages<V1Pod>(collections.pods, {}, (items) => void all.push(...items));
    return all;
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      now += 1000;
      await nodes.step();
    }
  };
  const counts = async () => {
    const { status } = (await api.get<V1DaemonSet>(owned.daemonSet)) ?? {};
    return [status?.desiredNumberScheduled, status?.numberReady, status?.numberAvailable];
  };
  return { api, nodes, pods, pass, counts };
}

test("gives each node a pod, which its kubelet reports as Ready and the DaemonSet counts", async () => {
  const { pods, pass, counts } = await played("a", "b");
  await pass(5);
  const nodePods = await pods();
  assert.deepEqual(
    nodePods.map(({ spec }) => spec?.nodeName),
    ["a", "b"],
  );
  for (const { status } of nodePods)
    assert.deepEqual(
      status?.conditions?.map(({ status: is }) => is),
      ["True", "True", "True", "True"],
    );
  assert.deepEqual(await counts(), [2, 2, 2]);
});

test("keeps other clients' changes of a pod when the driver writes the pod's status", async () => {
  const { api, nodes, pods, pass } = await played("a");
  await pass(2);
  const [pod] = await pods();
  const path = `${collections.pods}/${pod?.metadata?.name}`;
  const metadata = { annotations: { "x.example/granted": "1" } };
  await api.apply(path, { apiVersion: "v1", kind: "Pod", metadata }, owner);
  nodes.behaviour = () => "hangs";
  await pass(2);
  const after = await api.get<V1Pod>(path);
  assert.equal(after?.metadata?.annotations?.["x.example/granted"], "1");
  assert.equal(after?.status?.conditions?.find(({ type }) => type === "Ready")?.status, "False");
  assert.equal(nodes.model.nodes[0]?.pods[0]?.mounted?.annotations["x.example/granted"], "1");
});

test("replaces a deleted pod, and removes the pods of a deleted DaemonSet or node", async () => {
  const { api, nodes, pods, pass } = await played("a", "b");
  await pass(2);
  const [{ metadata: { name = "", uid = "" } = {} } = {}] = await pods();
  await api.remove(`${collections.pods}/${name}`, uid);
  await pass(3);
  const podsAfter = await pods();
  const sorted = podsAfter.map(({ spec }) => spec?.nodeName ?? "").toSorted();
  assert.deepEqual(sorted, ["a", "b"]);
  assert.ok(!podsAfter.some(({ metadata }) => metadata?.uid === uid));
  await nodes.remove("b");
  await pass(2);
  assert.deepEqual(
    (await pods()).map(({ spec }) => spec?.nodeName),
    ["a"],
  );
  const liveDaemonSet = await api.get<V1DaemonSet>(owned.daemonSet);
  await api.remove(owned.daemonSet, liveDaemonSet?.metadata?.uid ?? "");
  await pass(2);
  assert.deepEqual(await pods(), []);
});

test("reports a silent node as Unknown, and restores its former conditions when it is back", async () => {
  const { api, nodes, pods, pass, counts } = await played("a");
  const state = async () => {
    const node = await api.get<V1Node>(`${collections.nodes}/a`);
    const [pod] = await pods();
    const of = (type: string) =>
      pod?.status?.conditions?.find((condition) => condition.type === type)?.status;
    return [node?.status?.conditions?.[0]?.status, of("Ready"), of("ContainersReady")];
  };
  await pass(5);
  await nodes.die("a");
  await pass(2);
  assert.deepEqual(await state(), ["Unknown", "False", "True"]);
  assert.deepEqual(await counts(), [1, 0, 0]);
  await nodes.reset(["a"]);
  await pass(2);
  assert.deepEqual(await state(), ["True", "True", "True"]);
  assert.deepEqual(await counts(), [1, 1, 1]);
});

test("keeps a pod of an older template until it is deleted", async () => {
  const { api, pods, pass } = await played("a");
  await pass(2);
  const [before] = await pods();
  const { spec } = daemonSet;
  const containers = [{ name: "agent", image: "y" }];
  const template = { ...spec.template, spec: { containers } };
  await api.apply(owned.daemonSet, { ...daemonSet, spec: { ...spec, template } }, owner);
  await pass(5);
  assert.equal((await pods())[0]?.metadata?.uid, before?.metadata?.uid);
  const { name = "", uid = "" } = before?.metadata ?? {};
  await api.remove(`${collections.pods}/${name}`, uid);
  await pass(3);
  assert.equal((await pods())[0]?.spec?.containers[0]?.image, "y");
});

test("fulfils grants in place, in the order in which they are given", async () => {
  const { api, nodes, pods, pass } = await played("a", "b");
  await pass(3);
  const nodePods = await pods();
  for (const { metadata } of nodePods.toReversed()) {
    const annotations = { [revisionAnnotation]: "1", [sinceAnnotation]: "none" };
    const granted = { apiVersion: "v1", kind: "Pod", metadata: { annotations } };
    await api.apply(`${collections.pods}/${metadata?.name}`, granted, owner);
    await pass(1);
  }
  assert.deepEqual(nodes.order(1), ["b", "a"]);
  assert.equal(nodes.mostAtOnce, 2, "no content has been published that they could take");
  assert.deepEqual(
    (await pods()).map(({ metadata }) => metadata?.uid),
    nodePods.map(({ metadata }) => metadata?.uid),
  );
});
