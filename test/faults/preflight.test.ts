/**
 * Unfit nodes, which the agent leaves unchanged and reports with a reason, and nodes whose kubelet
 * belongs to another unit.
 */
import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { inTime } from "../harness/agent/agent.ts";
import { phaseOf } from "./phases.ts";
import { ours, AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

/** Asserts that the agent has written and restarted nothing. */
function untouched({ node, systemd }: AgentPlace, file?: string): void {
  assert.equal(node.file, file);
  assert.ok(!existsSync(join(node.folder, "journal.json")));
  assert.equal(systemd.restartCalls, 0);
}

test("restarts no kubelet while the kubelet's healthz does not answer", async () => {
  await using place = await AgentPlace.make();
  place.systemd.healthy = false;
  {
    await using agent = await place.agent([], 0);
    await agent.shows("GPS221");
  }
  await using agent = await place.agent();
  await agent.shows("GPS221");
  untouched(place);
  place.systemd.healthy = true;
  await agent.proves();
  assert.equal(place.systemd.restartCalls, 1);
});

test("restarts the kubelet's active unit, and never an inactive kubelet.service beside it", async () => {
  await using place = await AgentPlace.make();
  place.systemd.unit = "snap.kubelet.daemon.service";
  place.systemd.others.set("kubelet.service", "inactive");
  {
    await using agent = await place.agent(["--unit=kubelet.service"]);
    await agent.shows("GPS230");
    untouched(place);
  }
  await using agent = await place.agent();
  await agent.proves();
  assert.deepEqual(place.systemd.restarted, ["snap.kubelet.daemon.service"]);
});

test("does not start a stopped kubelet when config.json drifts", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent(["--unit=kubelet.service"]);
  await agent.proves();
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  writeFileSync(place.node.config, "{}");
  // The agent repairs the file, but must not start the kubelet. The kubelet reads the file when an
  // administrator starts it.
  await agent.shows("GPS254");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("changes nothing and names the units if several units, or none, could be the kubelet's active unit", async () => {
  await using place = await AgentPlace.make();
  place.systemd.others.set("k3s.service", "active");
  {
    await using agent = await place.agent();
    await agent.shows("kubelet.service and k3s.service are active");
    untouched(place);
  }
  [place.systemd.active, place.systemd.sub] = ["failed", "failed"];
  place.systemd.others.set("k3s.service", "activating");
  await using agent = await place.agent();
  await agent.shows("kubelet.service is failed, k3s.service is activating");
  untouched(place);
});

test("repeats failed restarts of the detected unit, although no unit is active after the first failure", async () => {
  await using place = await AgentPlace.make();
  const { systemd } = place;
  systemd.unit = "snap.kubelet.daemon.service";
  systemd.startLimitMicros = 200_000n;
  systemd.script = [crashes, crashes, crashes, comesBack];
  await using agent = await place.agent();
  await agent.fails();
  assert.deepEqual(systemd.restarted, Array(4).fill("snap.kubelet.daemon.service"));
  assert.deepEqual([place.node.file, systemd.active], [undefined, "active"]);
});

test("restarts a unit that contains a control plane only if a flag allows this; without the flag, waits for the kubelet", async () => {
  await using place = await AgentPlace.make();
  place.systemd.unit = "k3s.service";
  {
    await using agent = await place.agent();
    await agent.shows("GPS254");
    assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 0]);
    assert.equal(await agent.end("SIGTERM"), 0);
  }
  place.node.mount(2, { additional: { "a.io": "newer" } });
  await using agent = await place.agent(["--restart-control-plane=Always"], 2);
  await agent.proves();
  assert.deepEqual(place.systemd.restarted, ["k3s.service"]);
});

test("writes nothing if systemd is too old to distinguish two restarts", async () => {
  await using place = await AgentPlace.make();
  for (const property of ["NRestarts", "InvocationID"]) {
    place.systemd.unknown.clear();
    place.systemd.unknown.add(property);
    await using agent = await place.agent();
    await agent.shows("GPS231");
    untouched(place);
  }
});

test("creates config.json and our folder again if another program deletes both", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  await using agent = await place.agent();
  await agent.proves();
  rmSync(node.folder, { recursive: true });
  rmSync(node.config);
  assert.ok(await inTime(() => phaseOf(node) === "resting" && node.file === ours, 40_000));
  await agent.shows("GPS254");
  assert.equal(place.systemd.restartCalls, 1);
});

test("on an unfit node, reports a refusal once, and then waits for a new order", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  systemd.healthy = false;
  await using agent = await place.agent();
  const report = () => node.api?.reports.at(-1);
  assert.ok(await inTime(() => report()?.result === "Refused", 30_000));
  assert.deepEqual([report()?.code, report()?.attempt], ["GPS221", 1]);
  untouched(place);
  systemd.healthy = true;
  await agent.shows("GPS201");
  assert.deepEqual([node.file, systemd.restartCalls], [undefined, 0]);
  node.ask(1, { attempt: 2 });
  await agent.proves(40_000);
});
