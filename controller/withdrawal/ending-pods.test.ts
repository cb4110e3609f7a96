import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { agentsLeft } from "./remove.ts";

const ownerReferences = [
  { kind: "DaemonSet", name: "global-pull-secret-syncer", controller: true },
];
const pod = (nodeName: string) => ({ metadata: { ownerReferences }, spec: { nodeName } });
const node = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });

/** A cluster that records the requests. It answers with pages of pods, or with one node. */
function serving(pods: readonly object[], nodes: Record<string, object>) {
  const asked: string[] = [];
  const get = async (path: string) => {
    asked.push(path);
    const [collection, query] = path.split("?");
    const { limit, fieldSelector } = Object.fromEntries(new URLSearchParams(query));
    if (collection === "/api/v1/nodes")
      return { items: [nodes[fieldSelector?.split("=")[1] ?? ""]].filter(Boolean) };
    const items = pods.slice(0, Number(limit));
    return { items, metadata: items.length < pods.length ? { continue: "more" } : {} };
  };
  return { asked, cluster: { get } as unknown as Cluster };
}

test("counts our pods on Ready nodes, but no pods on unreachable or deleted nodes, and no pods of others", async () => {
  const nodes = { a: node("True"), b: node("Unknown") };
  const { cluster } = serving(
    [pod("a"), pod("b"), pod("gone"), { spec: { nodeName: "a" } }],
    nodes,
  );
  assert.equal(await agentsLeft(cluster), 1);
});

test("reads a hundred of 5,000 ending pods, and no node", async () => {
  const { cluster, asked } = serving(
    Array.from({ length: 5000 }, () => pod("a")),
    {},
  );
  assert.equal(await agentsLeft(cluster), 100);
  assert.equal(asked.length, 1);
});
