/**
 * Checks which parts of a real node each container of the agents' pods can write. A probe runs with
 * the container's mounts and security context, but without the permission model of Node.js.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { V1Container, V1Node, V1Pod } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { agentOn, allAtOnce } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let node: Node;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  [node] = cluster.nodes as [Node];
  await product.installProduct(cluster, { settings: allAtOnce });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster, 1);
});
after(() => cluster?.down());

/**
 * Lists the mounts of the host that are writable, and the files that the probe could really open
 * for writing.
 */
const probe = `
const fs = require("fs");
const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").trim().split("\\n")
  .map((line) => line.split(" ")).map(([, , , , point, options]) => ({ point, options: options.split(",") }));
const ofHost = mounts.filter(({ point }) => point.startsWith("/host/") && !point.startsWith("/host/kubelet"));
const writable = ofHost.filter(({ options }) => !options.includes("ro")).map(({ point }) => point);
const wrote = [];
const tries = {
  "/host/root/proc/sys/kernel/core_pattern": "r+", "/host/root/sys/kernel/uevent_helper": "r+",
  "/host/root/run/gps-probe": "w", "/host/root/etc/gps-probe": "w", "/host/systemd/gps-probe": "w",
};
for (const [path, flags] of Object.entries(tries)) try { fs.closeSync(fs.openSync(path, flags)); wrote.push(path); } catch {}
console.log(JSON.stringify({ seen: ofHost.length, writable, wrote }));`;

/** Runs the probe like this container, in a pod like the agent's. */
async function probed(pod: V1Pod, container: V1Container): Promise<unknown> {
  const name = `probe-${container.name}`;
  const { hostNetwork, securityContext, volumes = [], nodeName } = pod.spec ?? {};
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: names.namespace },
    spec: {
      hostNetwork,
      securityContext,
      nodeName,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      volumes: volumes.filter((volume) => !volume.name.startsWith("kube-api-access")),
      containers: [
        {
          name: "probe",
          image: container.image,
          command: ["/nodejs/bin/node", "-e", probe],
          securityContext: container.securityContext,
          volumeMounts: container.volumeMounts,
        },
      ],
    },
  });
  const phase = async () =>
    (await cluster.get<V1Pod>("pod", name, "-n", names.namespace))?.status?.phase;
  await until(`${name} has ended`, async () => (await phase()) === "Succeeded", {
    timeout: 60_000,
  });
  return JSON.parse(await cluster.kubectl("logs", name, "-n", names.namespace));
}

test("cannot write to the host, and mounts the root directory only if the node can mount it recursively read-only", async (t) => {
  const { status } = (await cluster.get<V1Node>("node", node.name)) ?? assert.fail("no node");
  const handler = status?.runtimeHandlers?.find(({ name = "" }) => name === "");
  const isAble = handler?.features?.recursiveReadOnlyMounts === true;
  t.diagnostic(`the node ${isAble ? "can" : "cannot"} mount recursively read-only`);
  const pod = (await agentOn(cluster, node)) as unknown as V1Pod;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  assert.equal(initContainers.length, isAble ? 1 : 0);
  for (const container of [...initContainers, ...containers]) {
    const found = (await probed(pod, container)) as { seen: number };
    assert.ok(found.seen > 0, "the probe sees no mount of the host");
    assert.partialDeepStrictEqual(found, { writable: [], wrote: [] }, container.name);
  }
});
