/**
 * A node with the shape of a worker of k3s: one process has the kubelet's own code, and containerd
 * as its child (k3s/main.go), in the unit that k3s's installer writes. It is not k3s itself.
 */
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { programs } from "../cluster/host/nodefiles.ts";
import { ownProgram } from "../cluster/kit/go.ts";
import type { Node } from "../cluster/node.ts";
import { agentOn, auths, skipRereadWait } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";

const unit = "k3s-agent.service";
let cluster: Cluster;
let node: Node;

before(async () => {
  const program = await ownProgram("e2e/k3s");
  cluster = await startCluster({ nodes: 0 });
  node = await cluster.addNode({ before: ({ rootfs }) => install(rootfs, program) });
  await product.installProduct(cluster);
});
after(() => cluster?.down());

/** Replaces the units of the kubelet and of containerd by the unit of k3s's installer. */
function install(rootfs: string, program: string): void {
  const units = join(rootfs, "etc/systemd/system");
  const kubelet = readFileSync(join(units, "kubelet.service"), "utf8");
  const [, flags = ""] = /^ExecStart=\S+ (.*)$/m.exec(kubelet) ?? [];
  for (const name of ["kubelet.service", "containerd.service"]) rmSync(join(units, name));
  cpSync(program, join(rootfs, "root/k3s"));
  writeFileSync(
    join(units, unit),
    `[Unit]
Description=Lightweight Kubernetes
Wants=network-online.target
After=network-online.target prepare.service
Requires=prepare.service
[Service]
Type=exec
KillMode=process
Delegate=yes
User=root
LimitNOFILE=1048576
LimitCORE=infinity
TasksMax=infinity
TimeoutStartSec=0
Restart=always
RestartSec=5s
Environment=PATH=${programs}:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/root/k3s ${flags}
`,
  );
  writeFileSync(
    join(units, "default.target"),
    `[Unit]\nWants=multi-user.target ${unit} dbus.service\n`,
  );
}

/** Changes if the unit is started again. */
const invocation = async () => (await node.unit(["InvocationID"], unit)).InvocationID;

/** The PID of containerd. */
async function containerd(): Promise<string> {
  const search = "grep -lx containerd /proc/[0-9]*/comm | cut -d/ -f3";
  return (await node.exec(["sh", "-c", search])).trim();
}

type Pods = { items: { status: { containerStatuses?: { restartCount: number }[] } }[] };

/** How often the containers of all pods were started again. */
async function containerRestarts(): Promise<number> {
  const pods = await cluster.get<Pods>("pods", "--all-namespaces");
  const statuses = pods?.items.flatMap(({ status }) => status.containerStatuses ?? []) ?? [];
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** Writes a Secret with the registry's credential under each of these paths of the registry. */
const declare = (...paths: string[]) =>
  product.writeAdditional(cluster, product.documentOf(cluster, ...paths));

/** Whether the node has the registry's credential under this path. */
const has = (path: string): boolean => `${cluster.registry.host}/${path}` in auths(node);

test("does not restart a unit that carries containerd, whose kubelet reads the file by itself", async () => {
  const before = await invocation();
  await declare("one");
  await skipRereadWait(node);
  await product.rolledOut(cluster);
  assert.ok(has("one"));
  assert.equal(await invocation(), before);
});

test("with --restart-control-plane, restarts the unit once with its containerd, and no container ends", async () => {
  const { uid } = (await agentOn(cluster, node)).metadata;
  await product.installProduct(cluster, { args: ["--restart-control-plane=Always"] });
  await until(
    "another agent is there",
    async () => (await agentOn(cluster, node)).metadata.uid !== uid,
  );
  await product.untilServed(cluster);
  const [before, child] = [await invocation(), await containerd()];
  const restarts = await containerRestarts();
  const served = (await product.revision(cluster)) ?? 0;
  await declare("one", "team");
  await product.untilServed(cluster, served);
  assert.ok(has("team"));
  assert.notEqual(await invocation(), before);
  assert.notEqual(await containerd(), child);
  assert.equal((await node.unit(["NRestarts"], unit)).NRestarts, "0");
  assert.equal(await containerRestarts(), restarts);
  await cluster.apply(podOn(node, "app", await cluster.pushApp("team/app:1")));
  await untilState(cluster, "app", "Running");
});

test("restores the former file if the unit does not start with the new one", async () => {
  const folder = `/etc/systemd/system/${unit}.d`;
  const lines = "[Service]\\nExecStartPre=/bin/false\\n";
  await node.exec(["sh", "-ec", `mkdir ${folder}; printf '${lines}' >${folder}/broken.conf`]);
  await node.exec(["systemctl", "daemon-reload"]);
  await declare("one", "team", "broken");
  await until("the node has the new file", () => has("broken"));
  await until("the node has the former file", () => !has("broken"), { timeout: 180_000 });
  assert.ok(has("team"));
  await node.exec(["rm", "-r", folder]);
  await node.exec(["systemctl", "daemon-reload"]);
  await cluster.untilReady(node);
});

test("removes everything", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.equal(node.readFile("config.json"), undefined);
});
