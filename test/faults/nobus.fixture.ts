/** A real node that has no D-Bus daemon, or no systemd, or a kubelet that cannot be restarted. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import test from "node:test";
import { until } from "../cluster/await.ts";
import { fresh, sharedNode } from "./machine.ts";
import { ours } from "./place.ts";

/** The flag that makes the agent find no systemd, as on nodes of k3d and Talos. */
const nowhere = "--systemd-directory=/nowhere";

/** Grants a withdrawal to the running agent. */
function withdraw(): void {
  const node = sharedNode();
  node.revision += 1;
  node.inside.node.mount(node.revision, {});
  node.inside.node.ask(node.revision);
}

test("restarts, rolls back and withdraws without a D-Bus daemon, as on kind's nodes", async (t) => {
  const { inside, revision } = await fresh();
  const old = await inside.kubelet();
  await inside.machine.exec(["systemctl", "stop", "dbus.socket", "dbus.service"]);
  t.after(() => inside.machine.exec(["systemctl", "start", "dbus.socket"]));
  await inside.start(revision);
  await inside.proves();
  const now = await inside.kubelet();
  assert.notEqual(now.InvocationID, old.InvocationID);
  assert.deepEqual(await inside.jobs(), ["done"]);
  withdraw();
  await inside.removes();
  assert.ok(!existsSync(inside.node.folder));
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).InvocationID, now.InvocationID);
  const again = await fresh();
  await inside.machine.breakKubelet(
    "[Service]\nRestart=no\nExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n",
  );
  await inside.start(again.revision);
  await inside.fails(180_000);
  assert.deepEqual(await inside.jobs(), ["failed", "failed", "failed", "done"]);
  assert.equal(inside.node.file, undefined);
});

test("applies nothing on a node without systemd, and reports the reason", async () => {
  const { inside, revision } = await fresh();
  await inside.start(revision, nowhere);
  await inside.shows("GPS262");
  assert.ok(!existsSync(inside.node.folder));
});

test("in mode Reread, serves a kubelet that has no unit and no healthz", async () => {
  const { inside, revision } = await fresh();
  const { ExecStart } = await inside.machine.unit(["ExecStart"]);
  const command = /argv\[\]=(.+?) ;/.exec(ExecStart)?.[1] ?? "";
  await inside.machine.exec(["systemctl", "stop", "kubelet"]);
  const shell = `setsid ${command} --healthz-port=0 >/dev/null 2>&1 & echo $!`;
  const pid = (await inside.machine.exec(["sh", "-c", shell])).trim();
  try {
    await inside.start(revision, "--restart=Never", nowhere);
    await inside.shows("GPS254");
    assert.equal(inside.node.file, ours);
    withdraw();
    await until("the credential is gone", async () => inside.node.file === undefined);
    // The kubelet still runs as the same process, without a unit.
    await inside.machine.exec(["sh", "-c", `kill -0 ${pid}`]);
    assert.equal((await inside.kubelet()).ActiveState, "inactive");
  } finally {
    await inside.machine.exec([
      "sh",
      "-c",
      `kill ${pid}; while kill -0 ${pid}; do sleep 0.1; done`,
    ]);
  }
});

test("removes a credential even if the agent cannot reach systemd", async () => {
  const { inside, revision } = await fresh();
  await inside.start(revision);
  await inside.proves();
  assert.equal(inside.node.file, ours);
  const { InvocationID } = await inside.kubelet();
  await inside.kill("SIGTERM");
  withdraw();
  await inside.start(sharedNode().revision, nowhere);
  await inside.removes();
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).InvocationID, InvocationID);
});

test("changes nothing if the kubelet's unit has RefuseManualStop", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.breakKubelet("[Unit]\nRefuseManualStop=yes\n");
  await inside.start(revision);
  await inside.shows("GPS259");
  assert.equal(inside.node.file, undefined);
});
