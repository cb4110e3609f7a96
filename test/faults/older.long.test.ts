/** The agent, and a kubelet from before 1.34 that comes to its node, as a downgrade brings it. */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import test, { after, before, beforeEach } from "node:test";
import { kubeadmFlagsFile } from "#contract/names.ts";
import { withFlags } from "#pullsecret/provider/flags.ts";
import { until } from "../cluster/await.ts";
import { programs } from "../cluster/host/nodefiles.ts";
import { olderKubelet } from "./older/kubelet.ts";
import { installProvider, kubeadmFlags } from "./provider.ts";
import { given, Registrant } from "./registrant.ts";

let agent: Registrant;
let older: string;

before(async () => {
  const { program, version } = await olderKubelet();
  older = version;
  agent = await Registrant.start();
  cpSync(program, join(agent.machine.rootfs, "root/kubelet"));
});

after(() => agent?.[Symbol.dispose]());

beforeEach(async () => {
  await agent.machine.exec(["umount", "--lazy", kubelet]).catch(() => {});
  await agent.fresh();
});

const kubelet = `${programs}/kubelet`;

/** From its next start on the node's kubelet is the older one. */
async function downgrade(): Promise<void> {
  await agent.machine.exec(["mount", "--bind", "/root/kubelet", kubelet]);
}

/** The running program's own word. */
async function isOlder(): Promise<void> {
  await until(`the kubelet is of ${older}`, async () => {
    const { MainPID } = await agent.inside.kubelet();
    const told = await agent.machine.exec([`/proc/${MainPID}/exe`, "--version"]).catch(() => "");
    return told.trim() === `Kubernetes ${older}`;
  });
}

async function restart(): Promise<void> {
  // Asked for, not waited for: whether it starts is what the tests see.
  await agent.machine.exec(["systemctl", "restart", "--no-block", "kubelet"]);
}

test("scope All: a kubelet from before 1.34 starts with what a later one was given, and asks the provider", async () => {
  await agent.rotate();
  await agent.inside.shows(200, "GPS200");
  await downgrade();
  await restart();
  await isOlder();
  const { InvocationID } = await agent.inside.kubelet();
  assert.equal(await agent.told(), "ours");
  await agent.rotate();
  await agent.inside.shows(200, "GPS200");
  await agent.pull("downgraded");
  assert.equal((await agent.inside.kubelet()).InvocationID, InvocationID);
});

test("scope Annotated: a kubelet from before 1.34 does not start with what a later one was given, and gets its old arguments back", async () => {
  await agent.rotate("--scope=Annotated");
  await agent.inside.shows(200, "GPS200");
  assert.equal(await agent.told(), "ours");
  await downgrade();
  await restart();
  assert.equal(await agent.inside.ended(180_000), "1");
  assert.match(agent.inside.node.message, /^GPS218 /);
  assert.equal(agent.env, given);
  assert.equal((await agent.inside.kubelet()).ActiveState, "active");
  await isOlder();
});

test("scope Annotated: a kubelet from before 1.34 that refuses the registration gets its old arguments back", async () => {
  await downgrade();
  await restart();
  await isOlder();
  await agent.rotate("--scope=Annotated");
  assert.equal(await agent.inside.ended(180_000), "1");
  assert.match(agent.inside.node.message, /^GPS218 /);
  assert.equal(agent.env, given);
  assert.equal(await agent.told(), "none");
  await isOlder();
});

test("scope All: a kubelet from before 1.34 is registered for the first time, and asks the provider", async () => {
  await downgrade();
  await restart();
  await isOlder();
  await agent.rotate();
  await agent.inside.shows(200, "GPS200");
  assert.equal(await agent.told(), "ours");
  await agent.pull("first");
  await isOlder();
});

test("scope All: a kubelet from before 1.34 that is given the configuration's directory does not start, and does with its file", async () => {
  installProvider(agent.inside.node.kubelet);
  agent.machine.writeFile(kubeadmFlagsFile, kubeadmFlags(), 0o644);
  await downgrade();
  await restart();
  await until("the kubelet says why it ends", async () => {
    const words = (await agent.machine.journal()).split("\n");
    return words.some((line) => /pull-secret-provider\/config: is a directory/.test(line));
  });
  await until("systemd starts it again and again", async () => {
    return Number((await agent.inside.kubelet()).NRestarts) >= 2;
  });
  agent.machine.writeFile(kubeadmFlagsFile, withFlags(given), 0o644);
  await isOlder();
  await until("it asks", async () => (await agent.told()) === "ours");
});
