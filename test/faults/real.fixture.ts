/**
 * The agent against a real systemd with a real kubelet.service, for properties that no fake can
 * prove.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import test from "node:test";
import { until } from "../cluster/await.ts";
import { fresh, duringRestart, sharedNode } from "./machine.ts";
import { ours } from "./place.ts";

/** How often a start of the kubelet's unit has failed before the kubelet's process began. */
async function failedStarts(): Promise<number> {
  await sharedNode().machine.exec(["journalctl", "--sync"]);
  return (await sharedNode().machine.journal()).split("Control process exited").length - 1;
}

test("H16, H17: writes the file and restarts the real kubelet once, without capabilities", async () => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.start(revision);
  await inside.proves();
  const now = await inside.kubelet();
  assert.notEqual(now.InvocationID, old.InvocationID);
  assert.equal(inside.node.file, ours);
  const { MainPID } = await inside.machine.unit(["MainPID"], "agent.service");
  const status = await inside.machine.exec(["cat", `/proc/${MainPID}/status`]);
  assert.match(status, /CapEff:\s+0+\n/);
  assert.match(await inside.machine.exec(["cat", `/proc/${MainPID}/coredump_filter`]), /^0+$/m);
  await inside.kill("SIGTERM");
  await inside.start(revision);
  await inside.proves();
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
});

test("H18: restores the old file when the kubelet cannot start, and starts the kubelet as soon as the kubelet can start", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet();
  await inside.start(revision);
  await inside.shows("GPS216", 90_000);
  await until("the old file is back", async () => inside.node.file === undefined);
  await inside.machine.healKubelet();
  await inside.fails(180_000);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("H18: restores the old file after three failed attempts if systemd does not restart the kubelet", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet(
    "[Service]\nRestart=no\nExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n",
  );
  const before = await failedStarts();
  await inside.start(revision);
  await inside.fails(180_000);
  assert.deepEqual(await inside.jobs(), ["failed", "failed", "failed", "done"]);
  // failedStarts() counts in systemd's log.
  assert.equal((await failedStarts()) - before, 3);
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("requests only one restart when systemd is re-executed in the middle of the job", async () => {
  const { inside } = await duringRestart();
  const now = await inside.kubelet();
  await inside.machine.exec(["systemctl", "daemon-reexec"]);
  await inside.proves(60_000);
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
});

test("changes nothing if the unit does not exist, or if systemd's socket does not exist", async () => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.start(revision, "--unit=nothere.service");
  await inside.shows("GPS211");
  await inside.kill("SIGTERM");
  await inside.start(revision, "--systemd-directory=/nowhere");
  await inside.shows("GPS262");
  assert.equal(inside.node.file, undefined);
  assert.ok(!existsSync(inside.node.folder));
  assert.equal((await inside.kubelet()).InvocationID, old.InvocationID);
  await inside.kill("SIGTERM");
  await inside.start(revision);
  await inside.proves(60_000);
});
