/** The agent registers its credential provider with a real kubelet, by kubeadm's own file. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { kubeadmFlagsFile, providerFiles, providerName } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import { registrant } from "./machine.ts";
import { given } from "./registrant.ts";

/** The shared node, whose kubelet has kubeadm's arguments alone. */
async function fresh() {
  const agent = registrant();
  await agent.fresh();
  return { agent, inside: agent.inside, machine: agent.machine };
}

test("one restart gives the kubelet its provider, a rotation restarts nothing, and a withdrawal leaves kubeadm's file as it was", async () => {
  const { agent, inside } = await fresh();
  const old = await inside.kubelet();
  await agent.rotate();
  await inside.shows(200, "GPS200");
  const now = await inside.kubelet();
  assert.notEqual(now.InvocationID, old.InvocationID);
  assert.deepEqual(await inside.jobs(agent.revision), ["done"]);
  assert.equal(await agent.told(), "ours");
  for (const name of ["first", "second"]) {
    await agent.pull(name);
    await agent.rotate();
    await inside.shows(200, "GPS200");
  }
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
  assert.equal(inside.node.file, undefined, "config.json has something of ours");
  await agent.serve({});
  await inside.shows(200, "GPS224");
  assert.deepEqual(await inside.jobs(agent.revision), ["done"]);
  assert.equal(agent.env, given);
  assert.equal(await agent.told(), "none");
  assert.ok(!existsSync(join(inside.node.kubelet, providerFiles.folder)));
});

test("H18: where somebody else's arguments win over ours, ours are taken back, and the agent says so", async () => {
  const { agent, inside, machine } = await fresh();
  // Found out only by the process that is started with it: systemd reads the file at each start.
  await machine.exec(["mkdir", "-p", "/root/other"]);
  await machine.exec(["cp", "/bin/true", "/root/other/other"]);
  const config = providerConfig([], "All").replace(providerName, "other");
  await machine.exec(["tee", "/root/other.json"], config);
  const theirs = ["config=/root/other.json", "bin-dir=/root/other"];
  const flags = theirs.map((flag) => `--image-credential-provider-${flag}`).join(" ");
  agent.setExtra(`KUBELET_EXTRA_ARGS=${flags}\n`);
  await agent.rotate();
  assert.equal(await inside.ended(), "1");
  assert.match(inside.node.message, /^GPS218 /);
  // The registration's, and the rollback's.
  assert.deepEqual(await inside.jobs(agent.revision), ["done", "done"]);
  assert.equal(agent.env, given);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("H18: a kubelet that cannot start with the flags gets its old arguments back", async () => {
  const { agent, inside, machine } = await fresh();
  await machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c '! grep -q credential-provider /var/lib/kubelet/${kubeadmFlagsFile}'\n`,
  );
  await agent.rotate();
  assert.equal(await inside.ended(), "1");
  assert.match(inside.node.message, /^GPS218 /);
  assert.equal(agent.env, given);
  assert.equal(await agent.told(), "none");
});

test("H18: a kubelet that is proved with the flags and fails with them later, as one of another version may, gets its old arguments back", async () => {
  const { agent, inside, machine } = await fresh();
  await agent.rotate();
  await inside.shows(200, "GPS200");
  assert.equal(await agent.told(), "ours");
  await machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c '! grep -q credential-provider /var/lib/kubelet/${kubeadmFlagsFile}'\n`,
  );
  await machine.exec(["systemctl", "restart", "kubelet"]).catch(() => {});
  assert.equal(await inside.ended(180_000), "1");
  assert.match(inside.node.message, /^GPS218 /);
  assert.equal(agent.env, given);
  assert.equal(await agent.told(), "none");
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("a unit that does not read kubeadm's file, and a provider that is there already, are left alone, and said", async () => {
  const { agent, inside, machine } = await fresh();
  const old = await inside.kubelet();
  machine.writeFile(kubeadmFlagsFile, undefined);
  await agent.rotate();
  await inside.shows("5nn", "GPS236");
  const others = given.replace("--v=1", "--image-credential-provider-config=/etc/x");
  machine.writeFile(kubeadmFlagsFile, others, 0o644);
  await inside.shows("5nn", "already");
  assert.equal(agent.env, others);
  assert.ok(!existsSync(join(inside.node.kubelet, providerFiles.folder)));
  assert.equal((await inside.kubelet()).InvocationID, old.InvocationID);
});
