/**
 * Restart jobs with different results, and jobs of other clients. The agent decides by the state of
 * the unit. It logs the result of a job, but does not decide by this result.
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

/**
 * For each script, applies one revision. Returns how many restarts the agent has requested for each
 * revision.
 */
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
    await agent.proves();
    assert.ok(place.node.file?.includes(encode(`password${index}`)));
    assert.equal(place.systemd.active, "active");
    asked.push(place.systemd.restartCalls - before);
  }
  assert.ok(!place.systemd.calls.includes("CancelJob"));
  return asked;
}

test("requests another restart if the kubelet is down after a restart, whatever the job's result", async () => {
  await using place = await AgentPlace.make();
  const scripts = jobResults.map((job): ScriptedRestart[] => [
    { job, after: job === "failed" ? "failed" : "inactive" },
    comesBack,
  ]);
  assert.deepEqual(await applyEach(place, scripts), Array(jobResults.length).fill(2));
});

test("accepts a kubelet that answers after a restart, whatever the job's result", async () => {
  await using place = await AgentPlace.make();
  const scripts = jobResults.map((job): ScriptedRestart[] => [{ job, after: "running" }]);
  assert.deepEqual(await applyEach(place, scripts), Array(jobResults.length).fill(1));
});

test("requests no restart while another client's job for the unit is queued or running", async () => {
  await using place = await AgentPlace.make();
  place.systemd.job = 7;
  await using agent = await place.agent();
  await agent.shows("GPS213");
  assert.equal(place.node.file, ours);
  const rounds = () => place.systemd.calls.filter((call) => call === questioned).length;
  const before = rounds();
  assert.ok(await inTime(() => rounds() > before + 3));
  assert.equal(place.systemd.restartCalls, 0);
  place.systemd.job = 0;
  await agent.proves();
  assert.equal(place.systemd.restartCalls, 1);
});

test("requests no restart if another client's restart was queued when the file was replaced, and ran later, but waits for the reread", async () => {
  await using place = await AgentPlace.make();
  place.systemd.job = 7;
  await using agent = await place.agent();
  await agent.shows("GPS213");
  place.systemd.started();
  place.systemd.job = 0;
  await agent.shows("GPS254");
  assert.equal(place.systemd.restartCalls, 0);
});

test("changes nothing while the unit is masked or missing, or cannot be loaded", async () => {
  await using place = await AgentPlace.make();
  for (const load of ["masked", "not-found", "bad-setting", "error"]) {
    place.systemd.load = load;
    await using agent = await place.agent();
    await agent.shows(`kubelet.service: ${load}`);
    assert.deepEqual([place.node.file, place.systemd.restartCalls], [undefined, 0], load);
  }
  await using agent = await place.agent();
  await agent.shows("GPS211");
  place.systemd.load = "loaded";
  await agent.proves();
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("restores the old file if the kubelet dies three seconds after each start", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.outcome = () => {
    if (place.node.file === ours) setTimeout(() => place.systemd.died(), 3000);
    return comesBack;
  };
  await using agent = await place.agent(["--probation=10s"]);
  await agent.fails(60_000);
  assert.equal(place.node.file, undefined);
  assert.equal(place.systemd.restartCalls, 4);
  assert.equal(place.systemd.active, "active");
});
