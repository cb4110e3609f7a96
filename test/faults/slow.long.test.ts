/**
 * Cases that take minutes by nature: a slow but working systemd, kubelets that die late, and
 * kubelets that never answer.
 */
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

test("restores the old file if the kubelet does not answer healthz for 30 s after each start", async () => {
  await using place = await AgentPlace.make();
  place.systemd.outcome = () => ({ ...comesBack, healthy: place.node.file !== ours });
  await using agent = await place.agent();
  const began = performance.now();
  await agent.fails(200_000);
  assert.ok(performance.now() - began > 90_000);
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 4]);
});

test("at rest, requests healthz twice a minute and nothing from systemd", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent();
  await agent.proves();
  const asked = () => ({ healthz: place.systemd.rounds, systemd: place.systemd.calls.length });
  // The agent is at rest only after 10 s without a change and one more observation that reads all
  // files.
  await sleep(40_000);
  const before = asked();
  await sleep(65_000);
  const after = asked();
  const questions = after.healthz - before.healthz;
  assert.ok(questions === 2 || questions === 3, `${questions} questions in 65 s`);
  assert.equal(after.systemd, before.systemd);
});
