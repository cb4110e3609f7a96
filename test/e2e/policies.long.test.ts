/** Tests mode Reread with the real waits of a kubelet, which take minutes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startCluster } from "../cluster/cluster.ts";
import { until } from "../cluster/await.ts";
import { agentOn, allAtOnce, auths, kubelets } from "./nodes.ts";
import { podOn, pullRefused, stateOf, untilState } from "./pods.ts";
import * as product from "./product.ts";

test("in mode Reread, runs a refused private image without a kubelet restart, and is Ready only after 305 s", async (t) => {
  await using cluster = await startCluster({ nodes: 1 });
  const [node] = cluster.nodes;
  assert.ok(node);
  await product.installProduct(cluster, {
    settings: { rollout: { maxUnavailable: allAtOnce }, delivery: { mode: "Reread" } },
  });
  const first = await kubelets(cluster);
  // After a refused pull the kubelet remembers for 5 minutes that it has no credentials.
  await cluster.apply(podOn(node, "app", await cluster.pushApp("team/app:1")));
  await untilState(cluster, "app", ...pullRefused);
  const began = Date.now();
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("the file has the entry", async () => Object.keys(auths(node)).length > 0);
  assert.notEqual(
    await stateOf(cluster, "app"),
    "Running",
    "the kubelet had remembered nothing, so this test proves nothing",
  );
  // The kubelet doubles the pause between two pulls, up to 5 minutes, so the pod might start
  // minutes after the kubelet has read the file.
  await until("the pod runs", async () => (await stateOf(cluster, "app")) === "Running", {
    timeout: 660_000,
    every: 1000,
    seen: () => stateOf(cluster, "app"),
  });
  // The agent becomes Ready only after the five minutes in which the kubelet reads its file again.
  await until(
    "the node has the revision",
    async () => (await agentOn(cluster, node)).status.containerStatuses?.[0]?.ready === true,
    {
      timeout: 400_000,
      every: 1000,
    },
  );
  assert.ok(Date.now() - began >= 305_000, `Ready after ${Date.now() - began} ms`);
  t.diagnostic(`after ${Math.round((Date.now() - began) / 1000)} s`);
  assert.deepEqual(await kubelets(cluster), first);
});
