/** The bus's directory is a mount. Its content is replaced, or its source directory disappears. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { stays } from "../cluster/await.ts";
import { AgentProcess, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { type TestBus, startBus } from "../harness/agent/bus.ts";
import { servedFilesFor } from "../harness/agent/mounted.ts";
import { content, ours } from "./place.ts";
import { startHealthz } from "./healthz.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

function mount(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

/** A node whose bus directory is a mount of `host`, as the pod's is of /run/dbus. */
function mounted() {
  const node = new NodeDirectory();
  const host = join(node.root, "run-dbus");
  for (const directory of [host, node.dbus]) mkdirSync(directory);
  mount("--bind", host, node.dbus);
  node.mount(1, content);
  const end = () => {
    for (const directory of [node.dbus, host]) spawnSync("umount", ["--lazy", directory]);
    node[Symbol.dispose]();
  };
  return { node, host, [Symbol.dispose]: end };
}

test("finds a new daemon's socket with the next connection when it replaces the old one's", async () => {
  using place = mounted();
  const { node, host } = place;
  await using before = await startBus(host);
  await using early = await ScriptedSystemd.start(before.address);
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: early.healthzPort,
  });
  await agent.shows(200, "GPS200");
  await before.signal("SIGKILL");
  await using after = await startBus(host);
  await using late = await ScriptedSystemd.start(after.address);
  node.mount(2, { additional: { "a.io": "newer" } });
  node.grant(2);
  assert.ok(await inTime(() => late.restartCalls === 1));
  await agent.shows(200, "revision 2");
  assert.equal(early.restartCalls, 1);
});

/**
 * `goes`: what happens to the host's directory. `comesBack`: how a bus gets into the mounted
 * directory again.
 */
async function stale(
  goes: (host: string) => void,
  comesBack: (host: string, dbus: string) => Promise<TestBus>,
) {
  using place = mounted();
  const { node, host } = place;
  await using lost = await startBus(host);
  await lost.signal("SIGKILL");
  goes(host);
  writeFileSync(node.config, "{}");
  await using healthz = await startHealthz();
  await using agent = await AgentProcess.start(node, { revision: 1, healthzPort: healthz.port });
  await agent.shows("5nn", "GPS2");
  await node.says(/^(GPS210 .*ECONNREFUSED|GPS262 .*ENOENT)/);
  assert.equal(node.file, "{}");
  await using bus = await comesBack(host, node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  assert.ok(await inTime(() => systemd.restartCalls === 1, 40_000));
  assert.equal(node.file, ours);
}

test("changes nothing when the host's directory is mounted over, and recovers with a socket in our mount", () =>
  stale(
    // Our mount still shows the old directory, with a dead socket.
    (host) => mount("-t", "tmpfs", "tmpfs", host),
    (_host, dbus) => startBus(dbus),
  ));

/** The agent's clock runs an hour in a minute. The agent waits five minutes. */
const fastClock =
  "--import=data:text/javascript,const u=process.uptime.bind(process);process.uptime=()=>60*u()";

test("ends the container after five minutes when the host's directory is removed, once the kubelet answers, and the next container recovers", async () => {
  using place = mounted();
  const { node, host } = place;
  // Served content is not refused by a termination message, unlike a grant after ten seconds.
  node.mount(1, content, servedFilesFor(1, "same"));
  await using lost = await startBus(host);
  await using kubelet = await ScriptedSystemd.start(lost.address);
  await lost.signal("SIGKILL");
  rmSync(host, { recursive: true });
  {
    kubelet.healthy = false;
    await using agent = await AgentProcess.start(node, {
      healthzPort: kubelet.healthzPort,
      nodeFlags: [fastClock],
    });
    await agent.shows(200, "GPS262");
    // Its clock, sixty times as fast, passes seven minutes in these seven seconds.
    await stays(
      "the agent runs, as a kubelet that is down would start no container",
      () => agent.child.exitCode === null,
      7000,
    );
    kubelet.healthy = true;
    assert.equal(await agent.ended(), 0);
    assert.match(node.message, /^GPS241 .*ENOENT/);
    assert.equal(node.file, undefined);
  }
  mkdirSync(host);
  assert.equal(spawnSync("umount", [node.dbus]).status, 0);
  mount("--bind", host, node.dbus);
  await using bus = await startBus(host);
  await using systemd = await ScriptedSystemd.start(bus.address);
  await using agent = await AgentProcess.start(node, { healthzPort: systemd.healthzPort });
  await agent.shows(200, "GPS200");
  assert.deepEqual([node.file, systemd.restartCalls], [ours, 1]);
});

test("changes nothing when the host's directory is removed, and recovers with a new mount", () =>
  stale(
    (host) => rmSync(host, { recursive: true }),
    // A removed directory cannot get new files. It takes a new mount, which a restarted container
    // gets.
    async (host, dbus) => {
      mkdirSync(host);
      assert.equal(spawnSync("umount", [dbus]).status, 0);
      mount("--bind", host, dbus);
      return await startBus(host);
    },
  ));
