import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "#controller/objects/agent.fixture.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Store } from "#test/harness/api/store.ts";
import { NodeListTimer, readNodes } from "./nodes.ts";

const born = Date.parse("2026-01-01T00:00:00Z");
const linux = { "kubernetes.io/os": "linux" };

/** An API server with these nodes, and a function that reads some of them. */
async function serving(nodes: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const api = new FakeApi(new Store(() => new Date(born)));
  const cluster = directly(api, "test");
  for (const [name, labels] of Object.entries(nodes)) {
    const status = { capacity: { pods: "110" } };
    await cluster.create(collections.nodes, { metadata: { name, labels }, status });
  }
  api.asked.length = 0;
  const read = (names: readonly string[], all = false) =>
    readNodes(cluster, agent, { nodes: new Set(names), all });
  return { api, read };
}

test("reads the named nodes, and reports a node that does not exist as gone", async () => {
  const { api, read } = await serving({ a: linux, b: linux });
  const { byName, all } = await read(["a", "gone"]);
  assert.equal(all, false);
  assert.deepEqual([...byName.keys()].toSorted(), ["a", "gone"]);
  assert.equal(byName.get("gone"), undefined);
  assert.equal(byName.get("a")?.created, born / 1000);
  assert.match(byName.get("a")?.uid ?? "", /^\w{8}-/);
  assert.deepEqual(
    api.asked.map(({ verb, query }) => [verb, query["fieldSelector"]]),
    [
      ["list", "metadata.name=a"],
      ["list", "metadata.name=gone"],
    ],
  );
});

test("reports a named node as gone if the DaemonSet does not serve the node", async () => {
  const { read } = await serving({ a: { "kubernetes.io/os": "windows" } });
  assert.deepEqual([...(await read(["a"])).byName], [["a", undefined]]);
});

test("lists the nodes that the DaemonSet serves, and no others", async () => {
  const { api, read } = await serving({
    a: linux,
    virtual: { ...linux, type: "virtual-kubelet" },
    kwok: { ...linux, type: "kwok" },
    liqo: { ...linux, "liqo.io/type": "virtual-node" },
    windows: { "kubernetes.io/os": "windows" },
  });
  const { byName, all } = await read([], true);
  assert.deepEqual([[...byName.keys()], all], [["a"], true]);
  assert.equal(api.asked.length, 1);
});

const counts: readonly (readonly [count: number, requests: number])[] = [
  [0, 0],
  [1, 1],
  [50, 50],
  [51, 1],
];
for (const [count, requests] of counts)
  test(`sends ${requests} requests when ${count} nodes are to be read`, async () => {
    const names = Array.from({ length: count }, (_, at) => `n${at}`);
    const { api, read } = await serving(Object.fromEntries(names.map((name) => [name, linux])));
    const { byName, all } = await read(names);
    assert.deepEqual([byName.size, all, api.asked.length], [count, count > 50, requests]);
  });

test("reads only the metadata of nodes, in pages", async () => {
  const names = Array.from({ length: 501 }, (_, at) => [`n${at}`, linux]);
  const { api, read } = await serving(Object.fromEntries(names) as Record<string, typeof linux>);
  const accepts: (string | undefined)[] = [];
  api.refuses = ({ accept }) => void accepts.push(accept);
  assert.equal((await read([], true)).byName.size, 501);
  assert.equal(accepts.length, 2);
  for (const accept of accepts) assert.match(accept ?? "", /PartialObjectMetadataList/);
});

test("lists Nodes at once when another withdrawal begins, or when one more node confirms a withdrawal", () => {
  const nodeListTimer = new NodeListTimer();
  const first = { confirmed: 1, missing: 0 };
  assert.equal(nodeListTimer.waits(0, first), 0);
  nodeListTimer.listed(0, first);
  assert.equal(nodeListTimer.waits(10, first), 50);
  assert.equal(nodeListTimer.waits(10, { ...first, confirmed: 2 }), 0);
  nodeListTimer.forget();
  assert.equal(nodeListTimer.waits(10, first), 0);
});
