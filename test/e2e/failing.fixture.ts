/**
 * If a kubelet does not start with the new file, only this kubelet's node is disturbed, for about a
 * minute.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { assertNoLeak } from "./leaks.ts";
import { nodeObject } from "./nodes.ts";
import * as product from "./product.ts";

const old = '{"auths":{"elsewhere.example":{"auth":"c29tZWJvZHk6ZWxzZQ=="}}}';

/** Needs a cluster without additional-pull-secret, and leaves the cluster in the same state. */
export function kubeletFails(on: () => Cluster): void {
  test("H18: restores the old file and the kubelet after three failed starts, and does not change the other nodes", async () => {
    const cluster = on();
    for (const node of cluster.nodes) node.writeFile("config.json", old);
    // Every start of a kubelet fails while config.json contains our entry, so only a rollback
    // repairs the kubelet. systemd does not start the kubelet again by itself (Restart=no), so each
    // failed start is an attempt of the agent.
    const condition = `! grep -q ${cluster.registry.host} /var/lib/kubelet/config.json`;
    for (const node of cluster.nodes)
      await node.breakKubelet(`[Service]\nRestart=no\nExecStartPre=/bin/sh -c '${condition}'\n`);
    const first = await Promise.all(cluster.nodes.map((node) => node.unit(["InvocationID"])));
    await product.writeAdditional(cluster, cluster.registry.document("additional"));

    const event = await product.untilEvent(cluster, "RolloutHalted", /failed on 1 node/);
    assert.equal(event.type, "Warning");
    const failed = cluster.nodes.find((node) => event.message.includes(node.name));
    assert.ok(failed);
    const { status } = (await nodeObject(cluster, failed)) ?? {};
    assert.deepEqual([status?.result, status?.code], ["Failed", "GPS218"]);

    assert.equal(failed.readFile("config.json")?.toString(), old);
    const unit = await failed.unit(["ActiveState", "SubState", "InvocationID"]);
    assert.deepEqual([unit.ActiveState, unit.SubState], ["active", "running"]);
    await cluster.untilReady(failed);
    const starts = (await failed.journal())
      .split("\n")
      .filter((line) => line.includes("Control process exited"));
    assert.equal(starts.length, 3, "three attempts, then a fourth start with the old file");

    const isSpared = async (node: Node): Promise<boolean> => {
      const { InvocationID: now } = await node.unit(["InvocationID"]);
      const before = first[cluster.nodes.indexOf(node)]?.InvocationID;
      return now === before && node.readFile("config.json")?.toString() === old;
    };
    const spared = cluster.nodes.filter((node) => node !== failed);
    await stays(
      "the other kubelets are the same processes with the same file",
      async () => (await Promise.all(spared.map(isSpared))).every(Boolean),
      8000,
    );
    await assertNoLeak(cluster, cluster.registry.users);
  });

  test("rolls out a corrected Secret to every node after a failed rollout", async () => {
    const cluster = on();
    for (const node of cluster.nodes) await node.healKubelet();
    const served = (await product.revision(cluster)) ?? 0;
    await product.writeAdditional(
      cluster,
      JSON.stringify({
        auths: { [`${cluster.registry.host}/team`]: cluster.registry.auth("additional") },
      }),
    );
    await product.untilServed(cluster, served);
    for (const node of cluster.nodes)
      assert.match(
        node.readFile("config.json")?.toString() ?? "",
        /elsewhere.*team|team.*elsewhere/s,
      );
  });

  test("withdraws the credential also from the node whose kubelet had failed", async () => {
    const cluster = on();
    await product.deleteAdditional(cluster);
    await product.untilRemoved(cluster);
    for (const node of cluster.nodes) {
      assert.equal(node.readFile("config.json")?.toString(), old);
      assert.equal(
        (
          await node.exec(["find", "/var/lib/kubelet", "-maxdepth", "1", "-name", "*global*"])
        ).trim(),
        "",
      );
    }
    await until(
      "the removal is reported",
      async () => (await product.events(cluster, "Removed")).length > 0,
    );
    assert.equal(await cluster.get("daemonset", names.agentName, "-n", names.namespace), undefined);
  });
}
