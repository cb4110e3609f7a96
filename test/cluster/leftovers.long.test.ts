import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "./await.ts";
import { attachCluster, removeCluster, startCluster } from "./cluster.ts";
import { isTaken, networkOf } from "./host/network.ts";
import { thisProcess } from "./host/owner.ts";
import { run, runSync } from "./run.ts";
import { allStates, claim, directoryOf, update } from "./host/state.ts";
import { removeLeftover, sweep } from "./host/sweep.ts";
import { tracesOf } from "./host/traces.ts";

const names: string[] = [];
after(() => names.forEach(removeCluster));

/** Another process that starts a cluster with one node and then waits. */
function startElsewhere(name: string, options: object = {}) {
  names.push(name);
  const script = `
    const { startCluster } = await import(${JSON.stringify(join(import.meta.dirname, "cluster.ts"))});
    await startCluster(${JSON.stringify({ nodes: 1, name, ...options })});
    console.log("up");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { child, up: once(child.stdout, "data"), ended: once(child, "exit") };
}

/** The directory of a cluster, once it has one. */
function directory(name: string): Promise<string> {
  return until(`cluster ${name} has begun`, () => {
    const state = allStates().find((state) => state.name === name);
    return state === undefined ? undefined : directoryOf(state);
  });
}

test("the next run deletes the leftovers of a killed run, but no cluster that was started with keep", async () => {
  const killed = startElsewhere("killed");
  const keptRun = startElsewhere("kept", { keep: true });
  await Promise.all([killed.up, keptRun.up]);
  const [killedAt, keptAt] = [await directory("killed"), await directory("kept")];
  assert.notEqual(killedAt, keptAt, "runs two clusters side by side");
  for (const { child, ended } of [killed, keptRun]) {
    child.kill("SIGKILL");
    await ended;
  }
  const traceKinds = tracesOf(killedAt).map((trace) => trace.split(" ")[0]);
  assert.deepEqual(
    new Set(traceKinds),
    new Set(["process", "namespace", "device", "control", "propagate", "directory"]),
  );

  sweep();
  assert.deepEqual(tracesOf(killedAt), []);
  const cluster = await attachCluster("kept");
  assert.equal(await cluster.kubectl("get", "nodes", "-o", "name"), "node/node1\n");
  assert.equal((await cluster.nodes[0]?.unit(["ActiveState"]))?.ActiveState, "active");

  assert.equal(removeCluster("kept"), true);
  assert.deepEqual(tracesOf(keptAt), []);
  assert.equal(removeCluster("kept"), false);
});

test("never deletes a running cluster, even if no file records it", async (t) => {
  const [empty, used] = ["gps98-hub", "gps99-hub"];
  for (const name of [empty, used]) await run(["ip", "netns", "add", name]);
  const child = spawn("nsenter", [`--net=/run/netns/${used}`, "sleep", "60"]);
  t.after(() => {
    child.kill();
    for (const name of [empty, used]) runSync(["ip", "netns", "delete", name]);
  });
  await until(
    "the process is in its namespace",
    async () => (await run(["ip", "netns", "pids", used])) !== "",
  );
  sweep();
  assert.deepEqual(
    [empty, used].map((name) => existsSync(`/run/netns/${name}`)),
    [false, true],
  );
  assert.equal(await isTaken(networkOf(99)), true);
});

test("deletes a leftover only once when several runs begin together, and never a cluster whose owner lives", async () => {
  const name = "slot";
  names.push(name);
  const state = await claim({ name, users: {} });
  const seen = { ...state, owner: { pid: 1, started: "before the last boot" } };
  removeLeftover(seen);
  assert.ok(existsSync(directoryOf(state)), "a cluster whose owner lives was removed");
  update(state.slot, () => ({ owner: seen.owner }));
  const lock = join(directoryOf(state), "sweep.lock");
  writeFileSync(lock, JSON.stringify(thisProcess));
  removeLeftover(seen);
  assert.ok(existsSync(directoryOf(state)), "a cluster that another run is removing was removed");
  // A sweep that was itself killed must not block others.
  writeFileSync(lock, JSON.stringify(seen.owner));
  removeLeftover(seen);
  assert.ok(!existsSync(directoryOf(state)));
});

for (const [when, file] of [
  ["while the control plane starts", "kube-apiserver.log"],
  ["while the node boots", "node1.log"],
] as const) {
  test(`leaves nothing behind after Ctrl-C ${when}`, async () => {
    const name = `interrupted-${file}`;
    const { child, ended } = startElsewhere(name);
    const place = await directory(name);
    await until(`${file} is there`, () => existsSync(join(place, file)), { every: 20 });
    child.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    assert.deepEqual(tracesOf(place), []);
  });
}

test("when a start fails, reports the reason at once and leaves nothing behind", async () => {
  const name = "failing";
  names.push(name);
  // The API server cannot read this policy, and ends.
  const starting = startCluster({ nodes: 1, name, apiServer: { audit: { kind: "Nothing" } } });
  const place = await directory(name);
  await assert.rejects(starting, /kube-apiserver died \(1\)/);
  assert.deepEqual(tracesOf(place), []);
});
