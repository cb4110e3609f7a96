/**
 * What systemd does with the unit and its jobs: the job's result is only told, what counts is the
 * unit.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { encode, inTime } from "../harness/agent/agent.ts";
import { ours, AgentPlace } from "./place.ts";
import {
  comesBack,
  jobResults,
  questioned,
  type ScriptedRestart,
} from "../harness/agent/scripted-systemd.ts";

/** Applies a revision for each script; answers how many restarts were asked for it. */
async function applyEach(
  place: AgentPlace,
  scripts: readonly (readonly ScriptedRestart[])[],
): Promise<number[]> {
  place.systemd.startLimitMicros = 100_000n;
  const asked: number[] = [];
  for (const [index, script] of scripts.entries()) {
    const before = place.systemd.restartCalls;
    place.systemd.script = [...script];
    place.node.mount(index + 1, { additional: { "a.io": `password${index}` } });
    await using agent = await place.agent(["--probation=0s"], index + 1);
    await agent.shows(200, "GPS200");
    assert.ok(place.node.file?.includes(encode(`password${index}`)));
    assert.equal(place.systemd.active, "active");
    asked.push(place.systemd.restartCalls - before);
  }
  assert.ok(!place.systemd.calls.includes("CancelJob"));
  return asked;
}

test("whatever a job's result: a kubelet that is down afterwards is asked for again", async () => {
  await using place = await AgentPlace.make();
  const scripts = jobResults.map((job): ScriptedRestart[] => [
    { job, after: job === "failed" ? "failed" : "inactive" },
    comesBack,
  ]);
  assert.deepEqual(await applyEach(place, scripts), Array(jobResults.length).fill(2));
});

test("whatever a job's result: a new kubelet that answers is proved by one restart", async () => {
  await using place = await AgentPlace.make();
  const scripts = jobResults.map((job): ScriptedRestart[] => [{ job, after: "running" }]);
  assert.deepEqual(await applyEach(place, scripts), Array(jobResults.length).fill(1));
});

test("somebody else's job for the unit, queued or running, is waited for, and no request is put beside it", async () => {
  await using place = await AgentPlace.make();
  place.systemd.job = 7;
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS213");
  assert.equal(place.node.file, ours);
  const looks = () => place.systemd.calls.filter((call) => call === questioned).length;
  const before = looks();
  assert.ok(await inTime(() => looks() > before + 3));
  assert.equal(place.systemd.restartCalls, 0);
  place.systemd.job = 0;
  await agent.shows(200, "GPS200");
  assert.equal(place.systemd.restartCalls, 1);
});

test("somebody else's restart that was queued when the file was put there is the one that was owed", async () => {
  await using place = await AgentPlace.make();
  place.systemd.job = 7;
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS213");
  place.systemd.started();
  place.systemd.job = 0;
  await agent.shows(200, "GPS200");
  assert.equal(place.systemd.restartCalls, 0);
});

test("a unit that is masked, missing, or cannot be loaded changes nothing until it can be", async () => {
  await using place = await AgentPlace.make();
  for (const load of ["masked", "not-found", "bad-setting", "error"]) {
    place.systemd.load = load;
    await using agent = await place.agent();
    await agent.shows("5nn", "GPS211");
    await place.node.says(new RegExp(`kubelet.service: ${load}`));
    assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 0], load);
  }
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS211");
  place.systemd.load = "loaded";
  await agent.shows(200, "GPS200");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("a kubelet that dies three seconds after each start has failed, and gets its old file back", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.fate = () => {
    if (place.node.file === ours) setTimeout(() => place.systemd.died(), 3000);
    return comesBack;
  };
  await using agent = await place.agent(["--probation=10s"]);
  assert.equal(await agent.ended(), 1);
  assert.match(place.node.message, /^GPS218 /);
  assert.equal(place.node.file, undefined);
  assert.equal(place.systemd.restartCalls, 4);
  assert.equal(place.systemd.active, "active");
});
