/** Cases that take minutes by nature: a slow but working systemd, and an agent at rest. */
import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ours, AgentPlace } from "./place.ts";
import { comesBack } from "../harness/agent/scripted-systemd.ts";

test("requests only one restart even if the job takes longer than the deadline for jobs", async () => {
  await using place = await AgentPlace.make();
  // The deadline for a job is 210 s. Afterwards the agent reads the unit's state.
  place.systemd.script = [{ ...comesBack, takes: 230_000 }];
  await using agent = await place.agent();
  await agent.proves(260_000);
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
  assert.match(agent.output, /"msg":"job unknown"/);
});

test("at rest, requests nothing from healthz or from systemd", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent();
  await agent.proves();
  const asked = () => ({ healthz: place.systemd.rounds, systemd: place.systemd.calls.length });
  // The agent is at rest only after 10 s without a change and one more observation that reads all
  // files.
  await sleep(40_000);
  const before = asked();
  await sleep(65_000);
  assert.deepEqual(asked(), before);
});
