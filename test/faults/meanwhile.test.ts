/**
 * Somebody else does something to the kubelet, or to the agent, in the middle: what is owed is made
 * once, and no more.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { inTime } from "../harness/agent/agent.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

test("a kubelet that is down when the agent arrives is not started by it; started by somebody, it gets the new file", async () => {
  await using place = await AgentPlace.make();
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  await using agent = await place.agent();
  await agent.shows("5nn", "kubelet.service is inactive");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 0]);
  place.systemd.started();
  await agent.shows(200, "GPS200");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("a kubelet that somebody stopped while all is in force is left stopped, told, and ready again when it is started", async () => {
  await using place = await AgentPlace.make();
  // No pause between two restarts, after which one would come.
  place.systemd.startLimitMicros = 100_000n;
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  // A hint: at rest the agent looks every 30 s.
  place.node.mount(1, content);
  await agent.shows("5nn", "GPS221", 40_000);
  // One look a second: it is not that the agent has only not come to it.
  const { looks } = place.systemd;
  assert.ok(await inTime(() => place.systemd.looks > looks + 5));
  await agent.shows("5nn", "GPS221");
  assert.equal(place.systemd.restartCalls, 1);
  place.systemd.started();
  await agent.shows(200, "GPS200", 40_000);
  assert.equal(place.systemd.restartCalls, 1);
});

test("a restart by somebody else after the file was put there is the one that was owed", async () => {
  await using place = await AgentPlace.make();
  // Our own request is lost with an error; in its place an administrator restarts.
  place.systemd.script = [
    { after: "unchanged", error: "org.freedesktop.DBus.Error.LimitsExceeded" },
  ];
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS210");
  assert.ok(await inTime(() => place.node.file === ours));
  // Every further request of ours is refused as well: only theirs can make it Ready. One may be on
  // its way in this moment.
  const asked = place.systemd.restartCalls;
  place.systemd.started();
  await agent.shows(200, "GPS200", 40_000);
  assert.ok(place.systemd.restartCalls <= asked + 1);
});

test("two failures, then recovery: the third attempt counts, and nothing is rolled back", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.script = [crashes, crashes, comesBack];
  await using agent = await place.agent();
  await agent.shows(200, "GPS200", 30_000);
  assert.equal(place.systemd.restartCalls, 3);
  assert.equal(place.node.file, ours);
  await place.node.says(/^$/);
});

test("a slow but working systemd is waited for: one restart, however long the job takes", async () => {
  await using place = await AgentPlace.make();
  // Longer than the 10 s after which a question to systemd counts as not answered.
  place.systemd.script = [{ ...comesBack, takes: 12_000 }];
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS212", 10_000);
  await agent.shows(200, "GPS200", 40_000);
  assert.equal(place.systemd.restartCalls, 1);
});
