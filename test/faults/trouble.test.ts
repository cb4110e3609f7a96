/** The agent as a process, in trouble: what it changes, what it says, and that it heals by itself when the trouble ends. */
import assert from "node:assert/strict";
import { chownSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnSync } from "node:child_process";
import { Agent, encode, Node, until } from "./agent.ts";
import { startBus } from "./bus.ts";
import { content, ours, Place } from "./place.ts";
import { comesBack, crashes, ScriptedSystemd } from "./scripted-systemd.ts";

test("without a bus nothing is changed, the reason is told, and it heals by itself when the bus comes", async () => {
  using node = new Node();
  node.mount(1, content);
  writeFileSync(node.config, "{}");
  await using agent = await Agent.start(node, { revision: 1, healthzPort: 1 });
  await agent.shows(503, "GPS210");
  assert.equal(node.file, "{}");
  await node.says(/^GPS210 .*ENOENT/);
  await using bus = await startBus(node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  assert.ok(await until(() => systemd.restartCalls === 1, 20_000));
  assert.equal(node.file, ours);
});

test("policy Never writes the file and asks nobody", async () => {
  await using place = await Place.make();
  await using agent = await place.agent(["--restart=Never"]);
  await agent.shows(200, "GPS200");
  assert.equal(place.node.file, ours);
  assert.deepEqual(place.systemd.calls, []);
});

test("revision 0 is ready and touches nothing", async () => {
  await using place = await Place.make();
  await using agent = await place.agent([], 0);
  await agent.shows(200, "GPS201");
  assert.equal(place.node.file, undefined);
  assert.deepEqual(place.systemd.calls, []);
});

test("a second agent on the node touches nothing until the first has ended", async () => {
  await using place = await Place.make();
  await using first = await place.agent();
  await first.shows(200, "GPS200");
  place.node.mount(2, { additional: { "a.io": "newer" } });
  const trace = join(place.node.root, "binds");
  const under = ["strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=bind"];
  const options = { revision: 2, healthzPort: place.systemd.healthzPort, probePort: first.port, under };
  await using second = await Agent.start(place.node, options);
  assert.ok(await until(() => second.output.includes("GPS205")));
  assert.equal((await second.probe("?revision=2")).status, 503);
  // It tries for the port every second, and shows nothing while it does not get it.
  const tries = () => readFileSync(trace, "utf8").split("EADDRINUSE").length - 1;
  const before = tries();
  assert.ok(await until(() => tries() >= before + 2));
  assert.equal(place.node.file, ours);
  assert.equal(await first.end("SIGTERM"), 0);
  await second.shows(200, "GPS200");
  assert.match(place.node.file ?? "", new RegExp(encode("newer")));
});

test("another program on the probe port: nothing is touched, the port is told, and it heals when that one ends", async () => {
  await using place = await Place.make();
  const { node, systemd } = place;
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await using agent = await Agent.start(node, { revision: 1, healthzPort: systemd.healthzPort, probePort: port });
  await node.says(new RegExp(`^GPS205 .*127\\.0\\.0\\.1:${port}`));
  assert.equal(node.file, undefined);
  other.close();
  await agent.shows(200, "GPS200");
  assert.equal(systemd.restartCalls, 1);
});

test("drift in our entry is repaired within seconds, with a restart; in others' it is left alone; then silence", async () => {
  await using place = await Place.make();
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  const theirs = { auth: encode("theirs") };
  writeFileSync(place.node.config, JSON.stringify({ auths: { "b.io": theirs } }));
  assert.ok(await until(() => place.systemd.restartCalls === 2, 5000));
  await agent.shows(200, "GPS200");
  const both = JSON.parse(place.node.file ?? "");
  assert.deepEqual(both, { auths: { "b.io": theirs, "a.io": { auth: encode("ours") } } });
  const lines = agent.output.split("\n").length;
  const { looks } = place.systemd;
  writeFileSync(place.node.config, JSON.stringify({ ...both, other: 1 }, undefined, 2));
  assert.ok(await until(() => place.systemd.looks > looks));
  // One more, which has surely begun after the change: at rest only a hint causes it at once.
  place.node.mount(1, content);
  assert.ok(await until(() => place.systemd.looks > looks + 1));
  assert.equal(agent.output.split("\n").length, lines);
  assert.equal(place.systemd.restartCalls, 2);
  assert.match(place.node.file ?? "", /"other": 1/);
});

test("another program that rewrites the file all the time costs few writes and restarts, and peace returns", async () => {
  await using place = await Place.make();
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  const end = performance.now() + 6000;
  let found = 0;
  while (performance.now() < end) {
    found += Number(place.node.file?.includes("a.io") ?? false);
    writeFileSync(place.node.config, '{"auths":{"b.io":{}}}');
    await sleep(100);
  }
  assert.ok(found <= 5, `${found} repairs in 6 s`);
  assert.ok(place.systemd.restartCalls <= 4);
  await agent.shows(200, "GPS200", 40_000);
  assert.deepEqual(Object.keys(JSON.parse(place.node.file ?? "").auths), ["b.io", "a.io"]);
});

test("a file that the kubelet cannot read is replaced once it has stayed so, and comes back on removal", async () => {
  await using place = await Place.make();
  writeFileSync(place.node.config, '{"auths":', { mode: 0o644 });
  {
    await using agent = await place.agent();
    await agent.shows(503, "GPS207");
    await agent.shows(200, "GPS200");
    assert.equal(place.node.file, ours);
  }
  place.node.mount(2, {});
  await using agent = await place.agent([], 2);
  await agent.shows(200, "GPS224");
  assert.equal(place.node.file, '{"auths":');
  assert.equal(statSync(place.node.config).mode & 0o777, 0o644);
});

test("what is no plain file of its own is refused and left as it is", async () => {
  await using place = await Place.make();
  const { config, root } = place.node;
  const kinds: readonly (readonly [name: string, make: () => void])[] = [
    ["symbolic link", () => symlinkSync("/nonexistent", config)],
    ["not a regular file", () => mkdirSync(config)],
    ["not a regular file", () => void spawnSync("mkfifo", [config])],
    ["hard links", () => (writeFileSync(`${root}/other`, "{}"), linkSync(`${root}/other`, config))],
    ["2 MiB", () => writeFileSync(config, " ".repeat(2 * 1024 * 1024 + 1))],
    ["duplicate", () => writeFileSync(config, '{"auths":{"a.io":{},"a.io":{}}}')],
  ];
  await using agent = await place.agent(["--restart=Never"], 2);
  for (const [why, make] of kinds) {
    rmSync(config, { recursive: true, force: true });
    make();
    place.node.mount(2, content);
    const before = statSync(config, { throwIfNoEntry: false })?.ino;
    await agent.shows(503, why);
    assert.equal(statSync(config, { throwIfNoEntry: false })?.ino, before, why);
    place.node.mount(1, content);
    await agent.shows(503, why);
  }
  rmSync(config);
  place.node.mount(2, content);
  await agent.shows(200, "GPS200");
});

test("without capabilities a file of root's is replaced, and one of somebody else's is left with the reason", async () => {
  await using place = await Place.make();
  const under = ["setpriv", "--bounding-set=-all", "--no-new-privs"];
  writeFileSync(place.node.config, "{}");
  chownSync(place.node.config, 1234, 0);
  const options = { revision: 1, healthzPort: place.systemd.healthzPort, under };
  await using agent = await Agent.start(place.node, options);
  await agent.shows(503, "it belongs to 1234:0");
  assert.equal(place.node.file, "{}");
  assert.equal(statSync(place.node.config).uid, 1234);
  assert.equal(place.systemd.restartCalls, 0);
  chownSync(place.node.config, 0, 0);
  await agent.shows(200, "GPS200", 40_000);
  assert.equal(place.node.file, ours);
});

test("SIGTERM ends a wait for a job at once, and the next agent does not restart again", async () => {
  await using place = await Place.make();
  const job = Promise.withResolvers<void>();
  place.systemd.script = [{ ...comesBack, takes: job.promise }];
  {
    await using agent = await place.agent();
    assert.ok(await until(() => place.systemd.restartCalls === 1));
    assert.equal(await agent.end("SIGTERM"), 0);
  }
  assert.equal(place.systemd.active, "deactivating", "the agent did not wait for the job");
  await using agent = await place.agent();
  await agent.shows(503, "GPS213");
  job.resolve();
  await agent.shows(200, "GPS200");
  assert.equal(place.systemd.restartCalls, 1);
});

test("the bus dies in mid-job: the restart counts as made when systemd says so, and is not made twice", async () => {
  await using place = await Place.make();
  place.systemd.onCall = (member) => void (member === "RestartUnit" && place.bus.signal("SIGKILL"));
  await using agent = await place.agent();
  await agent.shows(503, "GPS210");
  place.systemd.started();
  await using bus = await startBus(place.node.dbus);
  await using systemd = await ScriptedSystemd.start(bus.address);
  systemd.invocation = place.systemd.invocation;
  await agent.shows(200, "GPS200", 20_000);
  assert.equal(systemd.restartCalls, 0);
});

test("a kubelet that dies within the settle time takes readiness away, and systemd's own restart may prove it", async () => {
  await using place = await Place.make();
  await using agent = await place.agent(["--settle=6"]);
  await agent.shows(503, "GPS215");
  await agent.shows(200, "GPS215");
  place.systemd.died();
  await agent.shows(503, "GPS214");
  place.systemd.started();
  await agent.shows(200, "GPS200");
  assert.equal(place.systemd.restartCalls, 1);
});

test("a kubelet that stays down after the rollback is revived again and again, and the agent does not leave it", async () => {
  await using place = await Place.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.script = [crashes];
  await using agent = await place.agent();
  await agent.shows(503, "GPS220");
  assert.equal(place.node.file, undefined);
  assert.equal(agent.child.exitCode, null);
  place.systemd.script = [comesBack];
  assert.equal(await agent.ended(), 1);
  assert.match(place.node.message, /^GPS218 .*failure 1/);
  assert.equal(place.systemd.active, "active");
});

test("a journal that cannot be read is kept aside, and a restart is made in case one was owed", async () => {
  await using place = await Place.make();
  {
    await using agent = await place.agent();
    await agent.shows(200, "GPS200");
  }
  const journal = `${place.node.folder}/journal.json`;
  writeFileSync(journal, readFileSync(journal).subarray(0, 100));
  {
    await using agent = await place.agent();
    await agent.shows(200, "GPS200");
    assert.match(agent.output, /GPS223/);
    assert.equal(place.systemd.restartCalls, 2);
  }
  place.node.mount(2, {});
  await using agent = await place.agent([], 2);
  await agent.shows(200, "GPS224");
  assert.equal(place.node.file, undefined);
});

test("a newer agent's journal is left alone, if its writer wants that", async () => {
  await using place = await Place.make();
  mkdirSync(place.node.folder);
  const text = '{"version":9,"reads":9}';
  writeFileSync(`${place.node.folder}/journal.json`, text);
  await using agent = await place.agent();
  await agent.shows(503, "GPS222");
  assert.equal(readFileSync(`${place.node.folder}/journal.json`, "utf8"), text);
  assert.equal(place.node.file, undefined);
});
