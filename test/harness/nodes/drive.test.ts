/** The driver on the fake API server, with a fake clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Node, V1Pod } from "@kubernetes/client-node";
import {
  agentLabels,
  agentName,
  globalSecretName,
  namespace,
  secretKeys,
  secretType,
  servedKeys,
} from "#contract/names.ts";
import type { Report } from "#contract/order.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { digestOf } from "#pullsecret/merge/digest.ts";
import { FakeApi } from "../api/api.ts";
import { directly } from "../api/direct.ts";
import { install } from "../api/installed.ts";
import { Store } from "../api/store.ts";
import { NodesDriver } from "./drive.ts";

const daemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: agentName, namespace },
  spec: {
    minReadySeconds: 3,
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels: agentLabels },
      spec: { containers: [{ name: "agent", image: "x" }] },
    },
  },
};
const administrator = { manager: "test", force: true };
const document = '{"auths":{"a":{}}}';
const salt = Buffer.from("s");
const digest = digestOf({
  salt,
  intent: "apply",
  sources: Buffer.from("{}"),
  document: Buffer.from(document),
});
const base64 = (text: string) => Buffer.from(text).toString("base64");
const globalSecret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: globalSecretName, namespace },
  type: secretType,
  data: {
    [secretKeys.document]: base64(document),
    [secretKeys.revision]: base64("1"),
    [secretKeys.salt]: salt.toString("base64"),
    [secretKeys.intent]: base64("apply"),
    [secretKeys.sources]: base64("{}"),
    [secretKeys.mode]: base64("Restart"),
    [servedKeys.revision]: base64("0"),
  },
};

async function played(...names: string[]) {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const fake = new FakeApi(new Store(() => new Date(now)));
  install(fake);
  const api = directly(fake, "test");
  const nodes = new NodesDriver(api, { daemonSets: true, clock: () => now });
  for (const name of names) await nodes.add(name);
  await api.apply(owned.daemonSet, daemonSet, administrator);
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
  /** Creates or changes a node's object, as the controller does. */
  const ask = async (name: string, attempt: number) => {
    const node = await api.get<V1Node>(`${collections.nodes}/${name}`);
    const owner = { apiVersion: "v1", kind: "Node", name, uid: node?.metadata?.uid };
    await api.apply(
      `${collections.nodePullSecrets}/${name}`,
      {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "NodePullSecret",
        metadata: { name, namespace, ownerReferences: [owner] },
        spec: { revision: 1, digest, attempt },
      },
      administrator,
    );
  };
  const object = (name: string) =>
    api.get<{ status?: Report }>(`${collections.nodePullSecrets}/${name}`);
  return { api, nodes, pods, pass, counts, ask, object };
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
  const metadata = { annotations: { "x.example/note": "1" } };
  await api.apply(path, { apiVersion: "v1", kind: "Pod", metadata }, administrator);
  nodes.behaviour = () => "crashes";
  await pass(15);
  const after = await api.get<V1Pod>(path);
  assert.equal(after?.metadata?.annotations?.["x.example/note"], "1");
  assert.equal(after?.status?.conditions?.find(({ type }) => type === "Ready")?.status, "False");
  const [{ state, restartCount } = {}] = after?.status?.containerStatuses ?? [];
  assert.deepEqual([state?.waiting?.reason, restartCount], ["CrashLoopBackOff", 1]);
});

test("replaces a deleted pod, and removes the pods of a deleted DaemonSet or node", async () => {
  const { api, nodes, pods, pass } = await played("a", "b");
  await pass(2);
  const [{ metadata: { name = "", uid = "" } = {} } = {}] = await pods();
  await api.remove(`${collections.pods}/${name}`, uid);
  await pass(3);
  const nodeNames = async () => (await pods()).map(({ spec }) => spec?.nodeName ?? "").toSorted();
  assert.deepEqual(await nodeNames(), ["a", "b"]);
  assert.ok(!(await pods()).some(({ metadata }) => metadata?.uid === uid));
  await nodes.remove("b");
  await pass(38);
  assert.deepEqual(await nodeNames(), ["a", "b"], "the pod garbage collector waits");
  await pass(4);
  assert.deepEqual(await nodeNames(), ["a"]);
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

test("replaces pods of an older template one after another", async () => {
  const { api, pods, pass } = await played("a", "b");
  await pass(5);
  const { spec } = daemonSet;
  const containers = [{ name: "agent", image: "y" }];
  const template = { ...spec.template, spec: { containers } };
  await api.apply(owned.daemonSet, { ...daemonSet, spec: { ...spec, template } }, administrator);
  const images = async () => (await pods()).map(({ spec: pod }) => pod?.containers[0]?.image);
  const seen = new Set<string>();
  for (let second = 0; second < 15; second += 1) {
    await pass(1);
    seen.add((await images()).join(" "));
  }
  assert.deepEqual([...seen], ["x x", "x", "x y", "y", "y y"]);
});

test("carries orders to the agents, in the order in which they are given, and their reports back", async () => {
  const { api, nodes, pass, ask, object } = await played("a", "b");
  await pass(3);
  await api.apply(owned.global, globalSecret, administrator);
  for (const [index, name] of ["b", "a"].entries()) {
    await ask(name, 10 + index);
    await pass(1);
  }
  assert.deepEqual([nodes.order(1), nodes.mostAtOnce], [["b", "a"], 1]);
  await pass(1);
  const { status } = (await object("a")) ?? {};
  assert.deepEqual(
    [status?.result, status?.attempt, status?.code, status?.digest],
    ["Proved", 11, "GPS200", digest],
  );
  const written = await object("a");
  await pass(100);
  assert.deepEqual(await object("a"), written, "each result is reported once");
});

test("reports again into an object that was created again, and deletes the object of a deleted Node", async () => {
  const { api, nodes, pass, ask, object } = await played("a");
  await pass(1);
  await api.apply(owned.global, globalSecret, administrator);
  await ask("a", 10);
  await pass(3);
  const { metadata } = (await object("a")) as unknown as V1Node;
  await api.remove(`${collections.nodePullSecrets}/a`, metadata?.uid ?? "");
  await pass(1);
  await ask("a", 20);
  await pass(2);
  assert.equal((await object("a"))?.status?.attempt, 20);
  await nodes.remove("a");
  await pass(4);
  assert.notEqual(await object("a"), undefined);
  await pass(3);
  assert.equal(await object("a"), undefined);
});

test("reports nothing from a silent machine until it runs again", async () => {
  const { api, nodes, pods, pass, ask, object } = await played("a");
  await pass(2);
  await api.apply(owned.global, globalSecret, administrator);
  nodes.silence("a");
  await ask("a", 10);
  await pass(5);
  assert.equal((await object("a"))?.status, undefined);
  assert.equal((await pods())[0]?.status?.conditions?.[3]?.status, "True");
  await nodes.revive("a");
  await pass(3);
  assert.equal((await object("a"))?.status?.result, "Proved");
});
