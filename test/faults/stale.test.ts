/**
 * In the agent's pod, the directory of systemd's socket is a mount of a host directory. The socket
 * is replaced, or the host directory disappears.
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

/** A node whose systemd directory is a mount of `host`, like the pod's mount of /run/systemd. */
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

test("connects to a new socket of systemd that replaces the old socket, as after daemon-reexec", async () => {
  using place = mounted();
  const { node, host } = place;
  await using early = await ScriptedSystemd.start(host);
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: early.healthzPort,
  });
  await agent.proves();
  early.die();
  rmSync(join(host, "private"));
  await using late = await ScriptedSystemd.start(host);
  node.mount(2, { additional: { "a.io": "newer" } });
  node.ask(2);
  assert.ok(await inTime(() => late.restartCalls === 1));
  await agent.proves();
  assert.equal(early.restartCalls, 1);
});

/**
 * Checks an agent that starts with a stale mount. `goes`: makes the host's directory disappear.
 * `comesBack`: starts a systemd whose socket is in the agent's mount.
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
  await agent.shows(/GPS210 .*ECONNREFUSED|GPS262 .*ENOENT/);
  assert.equal(node.file, "{}");
  await using systemd = await comesBack(host, node.systemd);
  assert.ok(await inTime(() => systemd.restartCalls === 1, 40_000));
  assert.equal(node.file, ours);
}

test("changes nothing while another mount hides the host's directory, and recovers with a new socket in the pod's mount", () =>
  stale(
    // The pod's mount still shows the old directory, with a dead socket.
    (host) => mount("-t", "tmpfs", "tmpfs", host),
    (_host, inPod) => {
      rmSync(join(inPod, "private"));
      return ScriptedSystemd.start(inPod);
    },
  ));

test("changes nothing after the host's directory was removed, and recovers with a new mount", () =>
  stale(
    (host) => rmSync(host, { recursive: true }),
    // A removed directory cannot get new files. The agent needs a new mount, which it gets when its
    // container restarts.
    async (host, inPod) => {
      mkdirSync(host);
      assert.equal(spawnSync("umount", [inPod]).status, 0);
      mount("--bind", host, inPod);
      return await ScriptedSystemd.start(host);
    },
  ));

/** On the agent's clock an hour passes in each real minute. */
const fastClock =
  "--import=data:text/javascript,const u=process.uptime.bind(process);process.uptime=()=>60*u()";

test("continues to run without systemd for longer than a kubelet takes to read its files again", async () => {
  for (const flags of [[], ["--restart=Never"]]) {
    using node = new NodeDirectory();
    node.mount(1, content);
    await using healthz = await startHealthz();
    await using agent = await AgentProcess.start(node, {
      healthzPort: healthz.port,
      nodeFlags: [fastClock],
      flags,
    });
    await agent.shows("GPS2");
    // On the agent's clock twelve minutes pass in these twelve seconds.
    await stays("the agent runs", () => agent.child.exitCode === null, 12_000);
  }
});
