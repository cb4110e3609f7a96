/**
 * A real systemd: the kubelet's unit with the Types that distributions use, kubelets that die early
 * or late, and jobs of other clients.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../cluster/await.ts";
import { type Death, assertFileRestored, types } from "./deaths.ts";
import { fresh } from "./machine.ts";
import { ours } from "./place.ts";

test("H17: restarts a unit of Type simple, exec or notify once, and proves the revision", async () => {
  for (const type of types) {
    const { inside, revision } = await fresh();
    await inside.machine.breakKubelet(`[Service]\nType=${type}\n`);
    const old = await inside.kubelet();
    await inside.start(revision);
    await inside.proves();
    const now = await inside.kubelet();
    assert.deepEqual([inside.node.file, now.NRestarts], [ours, "0"], type);
    assert.notEqual(now.InvocationID, old.InvocationID);
    assert.equal((await inside.jobs()).join(), "done", type);
  }
});

/** types.long.test.ts tests every Type with every death, also 15 s after the start. */
const deaths: readonly Death[] = [
  { type: "simple", seconds: 0, restarts: "always" },
  { type: "exec", seconds: 3, restarts: "always" },
  { type: "notify", seconds: 0, restarts: "no" },
];

test("H18: restores the old file when a kubelet dies with the new file, whatever the Type of the kubelet's unit", async () => {
  for (const death of deaths) {
    const { inside, revision } = await fresh();
    await assertFileRestored(inside, revision, death);
  }
});

test("starts the kubelet again when another client cancels the agent's restart by stopping the kubelet", async () => {
  const { inside, revision } = await fresh();
  // Only the first start takes 60 s, so that the stop comes before the start has ended.
  const first = `/run/first-start-${revision}`;
  await inside.machine.breakKubelet(
    `[Service]\nExecStartPre=/bin/sh -c 'test -e ${first} || { touch ${first}; exec sleep 60; }'\n`,
  );
  await inside.start(revision);
  await until("the start is in progress", () => inside.machine.exec(["test", "-e", first]), {
    every: 50,
  });
  await inside.machine.exec(["systemctl", "stop", "kubelet"]);
  await inside.proves(60_000);
  assert.deepEqual(await inside.jobs(), ["canceled", "done"]);
  assert.deepEqual([inside.node.file, (await inside.kubelet()).ActiveState], [ours, "active"]);
});

test("does not start a kubelet that was stopped before the change, and applies the change once another client has started it", async () => {
  const { inside, revision } = await fresh();
  await inside.machine.exec(["systemctl", "stop", "kubelet"]);
  await inside.start(revision);
  await inside.shows("kubelet.service is inactive");
  assert.equal(inside.node.file, undefined);
  assert.deepEqual(await inside.jobs(), []);
  await inside.machine.exec(["systemctl", "start", "kubelet"]);
  // After 10 s, the agent has answered the first order with a refusal.
  inside.node.ask(revision, { attempt: revision + 1 });
  await inside.proves(60_000);
  assert.deepEqual([inside.node.file, (await inside.kubelet()).ActiveState], [ours, "active"]);
});
