/**
 * The thin path through the whole agent: a real process, a real dbus-daemon, a real file system;
 * systemd is scripted.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import test from "node:test";
import { AgentProcess, encode, NodeDirectory } from "../harness/agent/agent.ts";
import { startBus } from "../harness/agent/bus.ts";
import { nodeFlags } from "../harness/agent/deployed.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

test("H16, H17: a mounted revision reaches config.json, the kubelet is restarted once, the agent becomes ready", async () => {
  using node = new NodeDirectory();
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  node.mount(3, { additional: { "quay.io": "planted-password" } });
  await using agent = await AgentProcess.start(node, {
    revision: 3,
    healthzPort: systemd.healthzPort,
  });
  await agent.shows(200, "GPS200");
  assert.deepEqual(JSON.parse(node.file ?? ""), {
    auths: { "quay.io": { auth: encode("planted-password") } },
  });
  assert.equal(statSync(node.config).mode & 0o777, 0o600);
  assert.equal(systemd.restartCalls, 1);
  assert.doesNotMatch(agent.output, /planted-password/);
  assert.ok(!agent.output.includes(encode("planted-password")));
  assert.equal(await agent.end("SIGTERM"), 0);
});

test("H23: an agent of these tests is the shipped one: no capability, nothing to gain, the DaemonSet's flags", async () => {
  using node = new NodeDirectory();
  node.mount(1, { additional: {} });
  await using agent = await AgentProcess.start(node, { revision: 1, healthzPort: 1 });
  await agent.shows("5nn");
  const proc = `/proc/${agent.child.pid}`;
  const status = readFileSync(`${proc}/status`, "utf8");
  for (const set of ["CapPrm", "CapEff", "CapBnd"])
    assert.match(status, new RegExp(`^${set}:\\t0{16}$`, "m"));
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^Uid:\t0\t/m);
  const [, ...words] = readFileSync(`${proc}/cmdline`, "utf8").split("\0");
  assert.deepEqual(words.slice(0, nodeFlags(node).length), nodeFlags(node));
  assert.match(words[nodeFlags(node).length] ?? "", /\/dist\/agent\.cjs$/);
});

test("H20: a withdrawn revision leaves the very bytes that were there, and no folder of ours", async () => {
  using node = new NodeDirectory();
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  const before = `{ "auths": {"a.io": {"auth": "${encode("theirs")}"} } }\n`;
  writeFileSync(node.config, before, { mode: 0o640 });
  node.mount(1, { additional: { "a.io": "ours" } });
  {
    await using agent = await AgentProcess.start(node, {
      revision: 1,
      healthzPort: systemd.healthzPort,
    });
    await agent.shows(200, "GPS200");
    assert.match(node.file ?? "", new RegExp(encode("ours")));
  }
  node.mount(2, {});
  await using agent = await AgentProcess.start(node, {
    revision: 2,
    healthzPort: systemd.healthzPort,
  });
  await agent.shows(200, "GPS224");
  assert.equal(node.file, before);
  assert.equal(statSync(node.config).mode & 0o777, 0o640);
  assert.ok(!existsSync(node.folder));
  assert.equal(systemd.restartCalls, 2);
});

test("a halted rollout: a node keeps what it has and is ready, restarts nothing, and puts drift right only in its own content", async () => {
  using node = new NodeDirectory();
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  const agentOf = (revision: number) =>
    AgentProcess.start(node, { revision, healthzPort: systemd.healthzPort });
  const [own, other] = [
    { additional: { "a.io": "halted" } },
    { additional: { "a.io": "served before" } },
  ];
  node.mount(1, own);
  {
    await using agent = await agentOf(1);
    await agent.shows(200, "GPS200");
  }
  const kept = node.file;
  node.mount(2, { ...other, intent: "hold" });
  {
    await using agent = await agentOf(2);
    await agent.shows(200, "GPS251");
    assert.equal(node.file, kept);
    writeFileSync(node.config, "{}");
    await agent.shows(200, "GPS252");
    assert.equal(node.file, "{}");
  }
  node.mount(3, { ...own, intent: "hold" });
  await using agent = await agentOf(3);
  await agent.shows(200, "GPS251");
  assert.equal(node.file, kept);
  assert.equal(systemd.restartCalls, 1);
});

test("H18: three failed restarts put the old file back, restart the kubelet with it, and say so once", async () => {
  using node = new NodeDirectory();
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  systemd.startLimitMicros = 200_000n;
  systemd.script = [crashes, crashes, crashes, comesBack];
  node.mount(1, { additional: { "a.io": "ours" } });
  const options = { revision: 1, healthzPort: systemd.healthzPort };
  {
    await using agent = await AgentProcess.start(node, options);
    assert.equal(await agent.ended(), 1);
    assert.equal(node.file, undefined);
    assert.equal(systemd.restartCalls, 4);
    assert.match(node.message, /^GPS218 /);
  }
  await using agent = await AgentProcess.start(node, options);
  await agent.shows("5nn", "GPS219");
  assert.equal(systemd.restartCalls, 4);
});
