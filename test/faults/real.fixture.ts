/** The agent against a real systemd with a real kubelet.service: what no fake can vouch for. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fresh, inMidRestart, sharedNode } from "./machine.ts";
import { ours } from "./place.ts";

/** How often a start of the kubelet has failed before it began. */
const failedStarts = () => told("Control process exited");
/** How often systemd said so of the kubelet. */
async function told(words: string): Promise<number> {
  await sharedNode().machine.exec(["journalctl", "--sync"]);
  return (await sharedNode().machine.journal()).split(words).length - 1;
}

test("H16, H17: without capabilities the file is written and the real kubelet restarted once", async () => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.start(revision);
  await inside.shows(200, "GPS200");
  const now = await inside.kubelet();
  assert.notEqual(now.InvocationID, old.InvocationID);
  assert.equal(inside.node.file, ours);
  const { MainPID } = await inside.machine.unit(["MainPID"], "agent.service");
  const status = await inside.machine.exec(["cat", `/proc/${MainPID}/status`]);
  assert.match(status, /CapEff:\s+0+\n/);
  assert.match(await inside.machine.exec(["cat", `/proc/${MainPID}/coredump_filter`]), /^0+$/m);
  await inside.kill("SIGTERM");
  await inside.start(revision);
  await inside.shows(200, "GPS200");
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
});

test("H18: a kubelet that cannot start gets its old file back, is revived when it can, and the agent says so", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet();
  await inside.start(revision);
  await inside.shows("5nn", "GPS220", 90_000);
  assert.equal(inside.node.file, undefined);
  await inside.machine.healKubelet();
  assert.equal(await inside.ended(), "1");
  assert.match(inside.node.message, /^GPS218 /);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("H18: where systemd starts nothing by itself, exactly three attempts fail, and the next start has the old file", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet(
    "[Service]\nRestart=no\nExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n",
  );
  const before = await failedStarts();
  await inside.start(revision);
  assert.equal(await inside.ended(), "1");
  assert.deepEqual(await inside.jobs(revision), ["failed", "failed", "failed", "done"]);
  // By systemd's own word.
  assert.equal((await failedStarts()) - before, 3);
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

test("a unit that runs into its start limit is got out of it, and the kubelet ends up running with the old file", async () => {
  const { inside, revision } = await fresh();
  // Restarted by systemd every 100 ms, it uses up five starts in 5 s by itself.
  const limited =
    "[Unit]\nStartLimitIntervalSec=5\nStartLimitBurst=5\n[Service]\nRestartSec=100ms\n";
  await inside.machine.breakKubelet(
    `${limited}ExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n`,
  );
  const refused = "Start request repeated too quickly";
  const before = await told(refused);
  await inside.start(revision);
  assert.equal(await inside.ended(), "1");
  assert.ok((await told(refused)) > before, "the limit was never hit");
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).ActiveState, "active");
  const jobs = await inside.jobs(revision);
  // Three and the rollback's own; a start that systemd made by itself counts as an attempt, too.
  assert.ok(jobs.length >= 2 && jobs.length <= 4, `${jobs.length} restarts were asked for`);
});

test("an agent whose journal owes a restart makes it up", async () => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.start(revision, "--restart=Never");
  await inside.shows("5nn", "GPS254");
  await inside.kill("SIGKILL");
  // As if it had been killed right after the rename, with the restart still to be made.
  const journal = join(inside.node.folder, "journal.json");
  const record = JSON.parse(readFileSync(journal, "utf8"));
  await inside.machine.exec(
    ["tee", "/var/lib/kubelet/global-pull-secret/journal.json"],
    JSON.stringify({ ...record, phase: "applying", matters: true }),
  );
  await inside.start(revision);
  await inside.shows(200, "GPS200");
  assert.notEqual((await inside.kubelet()).InvocationID, old.InvocationID);
});

test("systemd is re-executed in mid-job: one restart, and the agent becomes ready", async () => {
  const { inside } = await inMidRestart();
  const now = await inside.kubelet();
  await inside.machine.exec(["systemctl", "daemon-reexec"]);
  await inside.shows(200, "GPS200", 60_000);
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
});

test("a unit that is not there, and a systemd that is not, change nothing", async () => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.start(revision, "--unit=nothere.service");
  await inside.shows("5nn", "GPS211");
  await inside.kill("SIGTERM");
  await inside.start(revision, "--systemd-directory=/nowhere");
  await inside.shows("5nn", "GPS262");
  assert.equal(inside.node.file, undefined);
  assert.ok(!existsSync(inside.node.folder));
  assert.equal((await inside.kubelet()).InvocationID, old.InvocationID);
  await inside.kill("SIGTERM");
  await inside.start(revision);
  await inside.shows(200, "GPS200", 60_000);
});
