/**
 * The directory of systemd's socket is a mount: what is in it is replaced, or what it was a mount
 * of goes away under it.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { stays } from "../cluster/await.ts";
import { AgentProcess, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { content, ours } from "./place.ts";
import { startHealthz } from "./healthz.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

function mount(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

/** A node whose systemd directory is a mount of `host`, as the pod's is of /run/systemd. */
function mounted() {
  const node = new NodeDirectory();
  const host = join(node.root, "run-systemd");
  for (const directory of [host, node.systemd]) mkdirSync(directory);
  mount("--bind", host, node.systemd);
  node.mount(1, content);
  const end = () => {
    for (const directory of [node.systemd, host]) spawnSync("umount", ["--lazy", directory]);
    node[Symbol.dispose]();
  };
  return { node, host, [Symbol.dispose]: end };
}

test("a new socket in the place of the old one, as after daemon-reexec, is found by the next connection", async () => {
  using place = mounted();
  const { node, host } = place;
  await using early = await ScriptedSystemd.start(host);
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: early.healthzPort,
  });
  await agent.shows(200, "GPS200");
  early.die();
  rmSync(join(host, "private"));
  await using late = await ScriptedSystemd.start(host);
  node.mount(2, { additional: { "a.io": "newer" } });
  node.grant(2);
  assert.ok(await inTime(() => late.restartCalls === 1));
  await agent.shows(200, "revision 2");
  assert.equal(early.restartCalls, 1);
});

/**
 * `goes`: what happens to the host's directory; `comesBack`: how systemd gets into the mounted one
 * again.
 */
async function stale(
  goes: (host: string) => void,
  comesBack: (host: string, inPod: string) => Promise<ScriptedSystemd>,
) {
  using place = mounted();
  const { node, host } = place;
  await using lost = await ScriptedSystemd.start(host);
  lost.die();
  goes(host);
  writeFileSync(node.config, "{}");
  await using healthz = await startHealthz();
  await using agent = await AgentProcess.start(node, { revision: 1, healthzPort: healthz.port });
  await agent.shows("5nn", "GPS2");
  await node.says(/^(GPS210 .*ECONNREFUSED|GPS262 .*ENOENT)/);
  assert.equal(node.file, "{}");
  await using systemd = await comesBack(host, node.systemd);
  assert.ok(await inTime(() => systemd.restartCalls === 1, 40_000));
  assert.equal(node.file, ours);
}

test("a stale mount, the host's directory mounted over: could not ask, nothing is changed, healed by a socket in ours", () =>
  stale(
    // The old directory lives on in our mount, with a dead socket.
    (host) => mount("-t", "tmpfs", "tmpfs", host),
    (_host, inPod) => {
      rmSync(join(inPod, "private"));
      return ScriptedSystemd.start(inPod);
    },
  ));

test("a stale mount, the host's directory removed: could not ask, nothing is changed, healed by a new mount", () =>
  stale(
    (host) => rmSync(host, { recursive: true }),
    // Nothing can be made in a directory that was removed: it takes a new mount, which a restarted
    // container gets.
    async (host, inPod) => {
      mkdirSync(host);
      assert.equal(spawnSync("umount", [inPod]).status, 0);
      mount("--bind", host, inPod);
      return await ScriptedSystemd.start(host);
    },
  ));

/** The agent's clock, an hour in a minute. */
const hastened =
  "--import=data:text/javascript,const u=process.uptime.bind(process);process.uptime=()=>60*u()";

test("an agent without systemd does not end, in either mode, long after the kubelet has re-read its files", async () => {
  for (const flags of [[], ["--restart=Never"]]) {
    using node = new NodeDirectory();
    node.mount(1, content);
    await using healthz = await startHealthz();
    await using agent = await AgentProcess.start(node, {
      healthzPort: healthz.port,
      nodeFlags: [hastened],
      flags,
    });
    await agent.shows(200);
    // Its clock has twelve minutes in these twelve seconds.
    await stays("the agent runs", () => agent.child.exitCode === null, 12_000);
  }
});
