/**
 * Runs the agent on a node that was prepared for a credential provider and whose kubelet is older
 * than 1.34, as after a downgrade.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import test, { after, before, beforeEach } from "node:test";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { programs } from "../cluster/host/nodefiles.ts";
import { programOf, releases } from "../cluster/kit/kubernetes.ts";
import type { Node as Machine } from "../cluster/node.ts";
import { podOn, untilState } from "../e2e/pods.ts";
import { Inside } from "./inside.ts";
import { installProvider, kubeadmFile, kubeadmFlags } from "./provider.ts";

let cluster: Cluster;
let machine: Machine;
let inside: Inside;
let revision = 0;
const older = releases["1.33"] ?? assert.fail();

before(async () => {
  const program = await programOf(older, "kubelet");
  cluster = await startCluster({ nodes: 1 });
  const [first] = cluster.nodes;
  assert.ok(first);
  machine = first;
  inside = await Inside.on(machine, cluster);
  cpSync(program, join(machine.rootfs, "root/kubelet"));
});

after(() => {
  inside?.[Symbol.dispose]();
  cluster?.down();
});

/** Each test begins with a kubelet without a provider, and a node without traces of an agent. */
beforeEach(async () => {
  await machine.exec(["umount", "--lazy", kubelet]).catch(() => {});
  await inside.kill("SIGKILL");
  machine.writeFile(kubeadmFile, 'KUBELET_KUBEADM_ARGS="--v=1"\n', 0o644);
  await machine.exec(["systemctl", "restart", "kubelet"]);
  await inside.fresh();
});

const kubelet = `${programs}/kubelet`;

/**
 * Prepares the node for a provider. `from`: the path of the configuration in the kubelet's flag, a
 * file or a directory.
 */
async function prepare(scope: ProviderScope, from?: string): Promise<void> {
  installProvider(inside.node.kubelet, [], scope);
  machine.writeFile(kubeadmFile, kubeadmFlags(from), 0o644);
  await restart();
}

/** Replaces the kubelet's program, so that the next start runs the older kubelet. */
async function downgrade(): Promise<void> {
  await machine.exec(["mount", "--bind", "/root/kubelet", kubelet]);
}

async function isOlder(): Promise<void> {
  await until(`the kubelet has version ${older}`, async () => {
    const { MainPID } = await inside.kubelet();
    const output = await machine.exec([`/proc/${MainPID}/exe`, "--version"]).catch(() => "");
    return output.trim() === `Kubernetes v${older}`;
  });
}

async function restart(): Promise<void> {
  // Does not wait for the result, because the tests themselves check whether the kubelet starts.
  await machine.exec(["systemctl", "restart", "--no-block", "kubelet"]);
}

async function keepsFailing(): Promise<void> {
  await until("systemd has started it several times", async () => {
    return Number((await inside.kubelet()).NRestarts) >= 2;
  });
}

/**
 * Changes the password in the registry, and lets a new agent apply this password as the next
 * revision.
 */
async function rotate(): Promise<void> {
  const { registry } = cluster;
  const password = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, user: password });
  await inside.kill("SIGTERM");
  revision += 1;
  inside.node.mount(revision, { additional: { [registry.host]: password } });
  await inside.start(revision, "--delivery=CredentialProvider", "--restart=Never");
  await inside.proves();
}

/** Runs a pod whose image is not on the node, and waits until it runs. */
async function pull(name: string): Promise<void> {
  await cluster.apply(podOn(machine, name, await cluster.pushApp(`team/app:${name}`)));
  await untilState(cluster, name, "Running");
}

test("an older kubelet starts with the configuration's file in scope All, and uses the provider", async () => {
  await prepare("All", providerFiles.config);
  await rotate();
  await pull("later");
  await downgrade();
  await restart();
  await isOlder();
  const { InvocationID } = await inside.kubelet();
  await rotate();
  await pull("downgraded");
  assert.equal((await inside.kubelet()).InvocationID, InvocationID);
});

test("an older kubelet starts with the configuration of scope All, but not of scope Annotated", async () => {
  await downgrade();
  await prepare("Annotated", providerFiles.config);
  await keepsFailing();
  installProvider(inside.node.kubelet, [], "All");
  await isOlder();
  await rotate();
  await pull("all");
});

test("an older kubelet starts with the configuration's file, but not with the configuration's directory", async () => {
  await downgrade();
  await prepare("All");
  await until("the kubelet logs why it ends", async () => {
    const words = (await machine.journal()).split("\n");
    return words.some((line) => /pull-secret-provider\/config: is a directory/.test(line));
  });
  await keepsFailing();
  machine.writeFile(kubeadmFile, kubeadmFlags(providerFiles.config), 0o644);
  await isOlder();
  await rotate();
  await pull("file");
});
