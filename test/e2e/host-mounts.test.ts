/**
 * Checks which parts of a real node the agents' container can write. A probe runs with the
 * container's mounts and security context, but without the permission model of Node.js.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { V1Container, V1Pod } from "@kubernetes/client-node";
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
  await product.untilServed(cluster);
});
after(() => cluster?.down());

/**
 * Lists the mounts of the host that are writable, the files that the probe could really open for
 * writing, and what it sees or can rename of covered folders.
 */
const probe = `
const fs = require("fs");
const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").trim().split("\\n")
  .map((line) => line.split(" ")).map(([, , , , point, options]) => ({ point, options: options.split(",") }));
const covered = ${JSON.stringify(names.coveredFolders)}.map((folder) => "/host/kubelet/" + folder);
const ofHost = mounts.filter(({ point }) =>
  point.startsWith("/host/") && (covered.includes(point) || !point.startsWith("/host/kubelet")));
const writable = ofHost.filter(({ options }) => !options.includes("ro")).map(({ point }) => point);
const wrote = [];
const tries = {
  "/host/systemd/gps-probe": "w", "/proc/sys/kernel/core_pattern": "r+", "/sys/kernel/uevent_helper": "r+",
};
for (const [path, flags] of Object.entries(tries)) try { fs.closeSync(fs.openSync(path, flags)); wrote.push(path); } catch {}
const uncovered = [];
for (const path of covered) {
  uncovered.push(...fs.readdirSync(path).map((name) => path + "/" + name));
  try { fs.renameSync(path, path + ".moved"); uncovered.push(path); } catch {}
}
console.log(JSON.stringify({ seen: ofHost.length, writable, wrote, uncovered }));`;

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

test("can write nothing of the host except the kubelet's directory, and see nothing of covered folders", async () => {
  const pod = (await agentOn(cluster, node)) as unknown as V1Pod;
  const [container, ...others] = pod.spec?.containers ?? [];
  assert.ok(container !== undefined && others.length === 0);
  assert.equal(pod.spec?.initContainers, undefined);
  const report = (await probed(pod, container)) as { seen: number };
  assert.ok(report.seen > names.coveredFolders.length, "the probe sees too few mounts of the host");
  assert.partialDeepStrictEqual(report, { writable: [], wrote: [], uncovered: [] });
  const uid = pod.metadata?.uid ?? "";
  assert.ok((await node.exec(["ls", "/var/lib/kubelet/pods"])).includes(uid), "pods is empty");
});
