/**
 * Another client stops, starts or restarts the kubelet, or systemd is slow. After each change the
 * kubelet has exactly one successful restart.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { inTime } from "../harness/agent/agent.ts";
import { ours, AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

test("does not start a kubelet that was down before the change, and applies the change once another client has started it", async () => {
  await using place = await AgentPlace.make();
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  await using agent = await place.agent();
  await agent.shows("kubelet.service is inactive");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 0]);
  place.systemd.started();
  await agent.proves();
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("does not restart a kubelet that another client has restarted meanwhile, and waits for the reread", async () => {
  await using place = await AgentPlace.make();
  // systemd refuses the agent's request. An administrator restarts the kubelet instead.
  place.systemd.script = [
    { after: "unchanged", error: "org.freedesktop.DBus.Error.LimitsExceeded" },
  ];
  await using agent = await place.agent();
  await agent.shows("GPS210");
  assert.ok(await inTime(() => place.node.file === ours));
  // One request of the agent might be on its way at this moment.
  const asked = place.systemd.restartCalls;
  place.systemd.started();
  await agent.shows("GPS254", 40_000);
  assert.ok(place.systemd.restartCalls <= asked + 1);
});

test("accepts the revision when the third attempt works after two failures, and rolls nothing back", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.script = [crashes, crashes, comesBack];
  await using agent = await place.agent();
  await agent.proves(30_000);
  assert.equal(place.systemd.restartCalls, 3);
  assert.equal(place.node.file, ours);
});

test("requests only one restart from a slow systemd, even if the job takes longer than the timeout of a question", async () => {
  await using place = await AgentPlace.make();
  // Longer than the 10 s after which a question to systemd counts as unanswered.
  place.systemd.script = [{ ...comesBack, takes: 12_000 }];
  await using agent = await place.agent();
  await agent.shows("GPS212", 10_000);
  await agent.proves(40_000);
  assert.equal(place.systemd.restartCalls, 1);
});
