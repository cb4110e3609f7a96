/** The agent registers its credential provider with a real kubelet, by kubeadm's own file. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before, beforeEach } from "node:test";
import { kubeadmFlagsFile, providerFiles, providerName } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import type { Node as Machine } from "../cluster/node.ts";
import { podOn, untilState } from "../e2e/pods.ts";
import { Inside } from "./inside.ts";

let cluster: Cluster;
let inside: Inside;
let machine: Machine;
let revision = 0;

const flags = ["--delivery=CredentialProvider", "--registration=Agent"];
const given = 'KUBELET_KUBEADM_ARGS="--v=1"\n';

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  const [first] = cluster.nodes;
  assert.ok(first);
  machine = first;
  inside = await Inside.on(machine);
});

after(() => cluster?.down());

beforeEach(async () => {
  machine.writeFile(kubeadmFlagsFile, given, 0o644);
  writeFileSync(extra(), "");
  await machine.exec(["systemctl", "restart", "kubelet"]);
  await inside.fresh();
});

const extra = () => join(machine.rootfs, "etc/default/kubelet");
const env = () => machine.readFile(kubeadmFlagsFile)?.toString();

async function told(): Promise<string> {
  const { MainPID } = await inside.kubelet();
  const command = await machine.exec(["cat", `/proc/${MainPID}/cmdline`]);
  return toldOf(command.replaceAll("\0", " "));
}

async function serve(content: Parameters<Inside["node"]["mount"]>[1]): Promise<void> {
  await inside.kill("SIGTERM");
  revision += 1;
  inside.node.mount(revision, content);
  await inside.start(revision, ...flags);
}

/** The next revision, with a new password that is the only one which the registry takes. */
async function rotate(): Promise<void> {
  const { registry } = cluster;
  const password = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, user: password });
  await serve({ additional: { [registry.host]: password } });
}

test("one restart gives the kubelet its provider, a rotation restarts nothing, and a withdrawal leaves kubeadm's file as it was", async () => {
  const old = await inside.kubelet();
  await rotate();
  await inside.shows(200, "GPS200");
  const now = await inside.kubelet();
  assert.notEqual(now.InvocationID, old.InvocationID);
  assert.deepEqual(await inside.jobs(revision), ["done"]);
  assert.equal(await told(), "ours");
  for (const name of ["first", "second"]) {
    await cluster.apply(podOn(machine, name, await cluster.pushApp(`team/app:${name}`)));
    await untilState(cluster, name, "Running");
    await rotate();
    await inside.shows(200, "GPS200");
  }
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
  assert.equal(inside.node.file, undefined, "config.json has something of ours");
  await serve({});
  await inside.shows(200, "GPS224");
  assert.deepEqual(await inside.jobs(revision), ["done"]);
  assert.equal(env(), given);
  assert.equal(await told(), "none");
  assert.ok(!existsSync(join(inside.node.kubelet, providerFiles.folder)));
});

test("H18: where somebody else's arguments win over ours, ours are taken back, and the agent says so", async () => {
  // Found out only by the process that is started with it: systemd reads the file at each start.
  await machine.exec(["mkdir", "-p", "/root/other"]);
  await machine.exec(["cp", "/bin/true", "/root/other/other"]);
  const config = providerConfig([], "All").replace(providerName, "other");
  await machine.exec(["tee", "/root/other.json"], config);
  const theirs = ["config=/root/other.json", "bin-dir=/root/other"];
  const flags = theirs.map((flag) => `--image-credential-provider-${flag}`).join(" ");
  writeFileSync(extra(), `KUBELET_EXTRA_ARGS=${flags}\n`);
  await rotate();
  assert.equal(await inside.ended(), "1");
  assert.match(inside.node.message, /^GPS218 /);
  // The registration's, and the rollback's.
  assert.deepEqual(await inside.jobs(revision), ["done", "done"]);
  assert.equal(env(), given);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("H18: a kubelet that cannot start with the flags gets its old arguments back", async () => {
  await machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c '! grep -q credential-provider /var/lib/kubelet/${kubeadmFlagsFile}'\n`,
  );
  await rotate();
  assert.equal(await inside.ended(), "1");
  assert.match(inside.node.message, /^GPS218 /);
  assert.equal(env(), given);
  assert.equal(await told(), "none");
});

test("H18: a kubelet that is proved with the flags and fails with them later, as one of another version may, gets its old arguments back", async () => {
  await rotate();
  await inside.shows(200, "GPS200");
  assert.equal(await told(), "ours");
  await machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c '! grep -q credential-provider /var/lib/kubelet/${kubeadmFlagsFile}'\n`,
  );
  await machine.exec(["systemctl", "restart", "kubelet"]).catch(() => {});
  assert.equal(await inside.ended(180_000), "1");
  assert.match(inside.node.message, /^GPS218 /);
  assert.equal(env(), given);
  assert.equal(await told(), "none");
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("a unit that does not read kubeadm's file, and a provider that is there already, are left alone, and said", async () => {
  const old = await inside.kubelet();
  machine.writeFile(kubeadmFlagsFile, undefined);
  await rotate();
  await inside.shows("5nn", "GPS236");
  const others = given.replace("--v=1", "--image-credential-provider-config=/etc/x");
  machine.writeFile(kubeadmFlagsFile, others, 0o644);
  await inside.shows("5nn", "already");
  assert.equal(env(), others);
  assert.ok(!existsSync(join(inside.node.kubelet, providerFiles.folder)));
  assert.equal((await inside.kubelet()).InvocationID, old.InvocationID);
});
