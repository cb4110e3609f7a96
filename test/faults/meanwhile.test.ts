/**
 * Another actor changes the kubelet or the agent in the middle of a change. The owed restart
 * happens exactly once.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { inTime } from "../harness/agent/agent.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

test("does not start a kubelet that was down before the agent started, and gives the kubelet the new file once another client starts it", async () => {
  await using place = await AgentPlace.make();
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  await using agent = await place.agent();
  await agent.shows("5nn", "kubelet.service is inactive");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 0]);
  place.systemd.started();
  await agent.shows(200, "GPS200");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("does not start a kubelet that was stopped after the change was complete, reports the kubelet as down, and is Ready again when another client starts it", async () => {
  await using place = await AgentPlace.make();
  // With this short start limit the agent does not pause between two restarts, so a wrong second
  // restart would come at once.
  place.systemd.startLimitMicros = 100_000n;
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  // This mount makes the agent observe the node at once. At rest it does so only every 30 s.
  place.node.mount(1, content);
  await agent.shows("5nn", "GPS221", 40_000);
  // Five more observations, one each second, give the agent time to request a restart.
  const { rounds } = place.systemd;
  assert.ok(await inTime(() => place.systemd.rounds > rounds + 5));
  await agent.shows("5nn", "GPS221");
  assert.equal(place.systemd.restartCalls, 1);
  place.systemd.started();
  await agent.shows(200, "GPS200", 40_000);
  assert.equal(place.systemd.restartCalls, 1);
});

test("counts another client's restart as the owed restart if that restart came after the file was replaced", async () => {
  await using place = await AgentPlace.make();
  // Our own request is lost with an error. An administrator restarts the kubelet instead.
  place.systemd.script = [
    { after: "unchanged", error: "org.freedesktop.DBus.Error.LimitsExceeded" },
  ];
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS210");
  assert.ok(await inTime(() => place.node.file === ours));
  // Every further request of ours is refused as well, so only the administrator's restart can make
  // the agent Ready. One request may be on its way at this moment.
  const asked = place.systemd.restartCalls;
  place.systemd.started();
  await agent.shows(200, "GPS200", 40_000);
  assert.ok(place.systemd.restartCalls <= asked + 1);
});

test("accepts the revision when the third attempt works after two failures, and rolls nothing back", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.script = [crashes, crashes, comesBack];
  await using agent = await place.agent();
  await agent.shows(200, "GPS200", 30_000);
  assert.equal(place.systemd.restartCalls, 3);
  assert.equal(place.node.file, ours);
  await place.node.reports(/^$/);
});

test("waits for a slow but working systemd, and requests only one restart however long the job takes", async () => {
  await using place = await AgentPlace.make();
  // Longer than the 10 s after which a question to systemd counts as unanswered.
  place.systemd.script = [{ ...comesBack, takes: 12_000 }];
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS212", 10_000);
  await agent.shows(200, "GPS200", 40_000);
  assert.equal(place.systemd.restartCalls, 1);
});
