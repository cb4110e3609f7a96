/**
 * Runs the agent as a process, causes trouble, and checks what the agent changes and reports, and
 * that it recovers when the trouble is over.
 */
import assert from "node:assert/strict";
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { execFileSync, spawnSync } from "node:child_process";
import { stays } from "../cluster/await.ts";
import { AgentProcess, encode, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { startHealthz } from "./healthz.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

test("changes nothing without systemd, reports the reason, and recovers when systemd comes", async () => {
  using node = new NodeDirectory();
  node.mount(1, content);
  writeFileSync(node.config, "{}");
  await using healthz = await startHealthz();
  await using agent = await AgentProcess.start(node, { revision: 1, healthzPort: healthz.port });
  await agent.shows(/GPS262 .*ENOENT/);
  assert.equal(node.file, "{}");
  await using systemd = await ScriptedSystemd.start(node.systemd);
  assert.ok(await inTime(() => systemd.restartCalls === 1, 20_000));
  assert.equal(node.file, ours);
});

test("with --restart=Never, requests no restart, and reports the proof once the kubelet has had enough time to read the file again", async () => {
  await using place = await AgentPlace.make();
  const journal = join(place.node.folder, "journal.json");
  {
    await using first = await place.agent(["--restart=Never"]);
    await first.shows("GPS254");
    assert.equal(place.node.file, ours);
  }
  const { written, ...rest } = JSON.parse(readFileSync(journal, "utf8"));
  assert.equal(written.boot, readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  // Moves the recorded time back, so that 25 seconds of the wait (five minutes and five seconds)
  // remain.
  writeFileSync(
    journal,
    JSON.stringify({ ...rest, written: { ...written, monotonic: written.monotonic - 280_000 } }),
  );
  await using agent = await place.agent(["--restart=Never"]);
  assert.match(await agent.shows("GPS254"), /\b([1-9]|1\d|2[0-5]) s more/);
  await agent.proves(40_000);
  assert.ok(process.hrtime.bigint() / 1_000_000n >= BigInt(written.monotonic + 25_000));
  assert.deepEqual(place.systemd.calls, []);
});

/** The directories of another agent's pod on the same node, with revision 2 mounted. */
function besides({ node }: AgentPlace): NodeDirectory {
  const other = new NodeDirectory(undefined, node.kubelet);
  symlinkSync(node.systemd, other.systemd);
  other.mount(2, { additional: { "a.io": "newer" } });
  return other;
}

test("changes nothing while another agent runs on the node", async () => {
  await using place = await AgentPlace.make();
  await using first = await place.agent();
  await first.proves();
  using other = besides(place);
  const options = { revision: 2, healthzPort: place.systemd.healthzPort };
  await using second = await AgentProcess.start(other, options);
  await second.shows("GPS205");
  const { mtimeMs } = statSync(place.node.folder);
  const untouched = (): boolean =>
    place.node.file === ours && statSync(place.node.folder).mtimeMs === mtimeMs;
  await stays("the file is the first agent's, and our folder is unchanged", untouched, 2500);
  assert.equal(await first.end("SIGTERM"), 0);
  await second.proves(20_000);
  assert.match(place.node.file ?? "", new RegExp(encode("newer")));
});

test("keeps the lock while the agent is frozen, and releases it when the agent is killed", async () => {
  await using place = await AgentPlace.make();
  await using first = await place.agent();
  await first.proves();
  first.child.kill("SIGSTOP");
  using other = besides(place);
  const options = { revision: 2, healthzPort: place.systemd.healthzPort };
  await using second = await AgentProcess.start(other, options);
  await second.shows("GPS205");
  await stays("the file is the frozen agent's", () => place.node.file === ours, 2500);
  await first.end("SIGKILL");
  await second.proves();
});

test("reports a withdrawal once, and keeps running", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  {
    await using agent = await place.agent();
    await agent.proves();
    node.mount(2, {});
    await agent.removes();
    assert.ok(!existsSync(node.folder));
  }
  await using agent = await place.agent([], 2);
  await agent.removes();
  assert.equal(agent.child.exitCode, null);
  const removals = node.api?.reports.filter(({ result }) => result === "Removed");
  assert.deepEqual(
    removals?.map(({ revision }) => revision),
    [2],
  );
});

test("confirms a withdrawal without a folder or a lock if the node has none of our entries", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  node.mount(2, {});
  const stirred = statSync(node.kubelet).mtimeMs;
  await using agent = await place.agent([], 0);
  await agent.removes();
  assert.deepEqual([existsSync(node.folder), statSync(node.kubelet).mtimeMs], [false, stirred]);
});

test("repairs our entry without a restart, and leaves changes of other programs' entries in place", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent();
  await agent.proves();
  const theirs = { auth: encode("theirs") };
  writeFileSync(place.node.config, JSON.stringify({ auths: { "b.io": theirs } }));
  await agent.shows("GPS254");
  const both = JSON.parse(place.node.file ?? "");
  assert.deepEqual(both, { auths: { "b.io": theirs, "a.io": { auth: encode("ours") } } });
  const changed = JSON.stringify({ ...both, other: 1 }, undefined, 2);
  writeFileSync(place.node.config, changed);
  await agent.shows("GPS268");
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [changed, 1]);
});

test("writes seldom and restarts nothing while another program rewrites the file again and again", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent();
  await agent.proves();
  const end = performance.now() + 6000;
  let repairs = 0;
  while (performance.now() < end) {
    repairs += Number(place.node.file?.includes("a.io") ?? false);
    writeFileSync(place.node.config, '{"auths":{"b.io":{}}}');
    await sleep(100);
  }
  // On a slow disk the other program can be faster each time. In this case the agent must report
  // GPS209.
  assert.ok(repairs >= 1 || agent.output.includes("GPS209"), "no write was tried");
  assert.ok(repairs <= 5, `${repairs} repairs in 6 s`);
  assert.equal(place.systemd.restartCalls, 1);
  assert.ok(await inTime(() => place.node.file?.includes("a.io") === true, 40_000), agent.output);
  await agent.shows("GPS254", 40_000);
  assert.deepEqual(Object.keys(JSON.parse(place.node.file ?? "").auths), ["b.io", "a.io"]);
});

test("refuses a config.json that is not a plain file, and leaves config.json unchanged", async () => {
  await using place = await AgentPlace.make();
  const { config, root } = place.node;
  const kinds: readonly (readonly [name: string, make: () => void])[] = [
    ["not a regular file", () => mkdirSync(config)],
    ["symbolic link", () => symlinkSync("/nonexistent", config)],
    ["not a regular file", () => void spawnSync("mkfifo", [config])],
    ["hard links", () => (writeFileSync(`${root}/other`, "{}"), linkSync(`${root}/other`, config))],
    ["2 MiB", () => writeFileSync(config, " ".repeat(2 * 1024 * 1024 + 1))],
    ["duplicate", () => writeFileSync(config, '{"auths":{"a.io":{},"a.io":{}}}')],
  ];
  for (const [why, make] of kinds) {
    rmSync(config, { recursive: true, force: true });
    make();
    const before = statSync(config, { throwIfNoEntry: false })?.ino;
    // A new process for each kind, because the log repeats a code only after a minute.
    await using agent = await place.agent(["--restart=Never"]);
    await agent.shows(why);
    assert.equal(statSync(config, { throwIfNoEntry: false })?.ino, before, why);
  }
  rmSync(config);
  await using agent = await place.agent(["--restart=Never"]);
  await agent.shows("GPS254");
  assert.equal(place.node.file, ours);
});

test("replaces root's file, but leaves a file of another user unchanged and reports the reason", async () => {
  await using place = await AgentPlace.make();
  writeFileSync(place.node.config, "{}");
  chownSync(place.node.config, 1234, 0);
  await using agent = await place.agent();
  await agent.shows("it belongs to 1234:0");
  assert.equal(place.node.file, "{}");
  assert.equal(statSync(place.node.config).uid, 1234);
  assert.equal(place.systemd.restartCalls, 0);
  chownSync(place.node.config, 0, 0);
  await agent.proves(40_000);
  assert.equal(place.node.file, ours);
});

test("on SIGTERM, ends the wait for a job at once, and the next agent does not restart the kubelet again", async () => {
  await using place = await AgentPlace.make();
  const job = Promise.withResolvers<void>();
  place.systemd.script = [{ ...comesBack, takes: job.promise }];
  {
    await using agent = await place.agent();
    assert.ok(await inTime(() => place.systemd.restartCalls === 1));
    assert.equal(await agent.end("SIGTERM"), 0);
  }
  assert.equal(place.systemd.active, "deactivating", "the agent did not wait for the job");
  await using agent = await place.agent();
  await agent.shows("GPS213");
  job.resolve();
  await agent.proves();
  assert.equal(place.systemd.restartCalls, 1);
});

test("requests no second restart if systemd hangs up in the middle of the job and the kubelet was restarted", async () => {
  await using place = await AgentPlace.make();
  place.systemd.onCall = (member) => void (member === "RestartUnit" && place.systemd.die());
  await using agent = await place.agent();
  await agent.shows("GPS210");
  rmSync(join(place.node.systemd, "private"));
  await using systemd = await ScriptedSystemd.start(place.node.systemd);
  systemd.started();
  await agent.proves(20_000);
  assert.equal(systemd.restartCalls, 0);
});

test("reports no proof when the kubelet dies within its probation, but after systemd's own restart of the kubelet", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent(["--probation=6s"]);
  await agent.shows("GPS215");
  place.systemd.died(true);
  await agent.shows("GPS214");
  place.systemd.started();
  await agent.proves();
  assert.equal(place.systemd.restartCalls, 1);
});

test("requests restarts of a kubelet that stays down after the rollback, until the kubelet runs", async () => {
  await using place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  place.systemd.script = [crashes];
  await using agent = await place.agent();
  await agent.shows("GPS220");
  assert.equal(place.node.file, undefined);
  assert.equal(agent.child.exitCode, null);
  place.systemd.script = [comesBack];
  await agent.fails();
  assert.match(place.node.api?.reports.at(-1)?.message ?? "", /^GPS218 .*revision 1/);
  assert.equal(place.systemd.active, "active");
});

test("removes an unreadable or too large journal, and waits until the kubelet has read the file, because a restart might be owed", async () => {
  /** Replaces the journal by a file that blocks a reader, or that never ends. */
  const replace = (make: (journal: string) => void) => (journal: string) => {
    rmSync(journal);
    make(journal);
  };
  const harms: readonly (readonly [why: string, harm: (journal: string) => void])[] = [
    ["not JSON", (journal) => truncateSync(journal, 100)],
    ["more than 8 MiB", (journal) => truncateSync(journal, 9 * 1024 * 1024)],
    ["not a regular file", replace((journal) => execFileSync("mkfifo", [journal]))],
    ["not a regular file", replace((journal) => symlinkSync("/dev/zero", journal))],
    ["not a regular file", replace((journal) => mkdirSync(journal))],
  ];
  for (const [why, harm] of harms) {
    await using place = await AgentPlace.make();
    {
      await using agent = await place.agent();
      await agent.proves();
    }
    harm(`${place.node.folder}/journal.json`);
    {
      await using agent = await place.agent();
      await agent.shows(new RegExp(`GPS223 .*${why}`));
      await agent.shows("GPS254");
      assert.equal(place.systemd.restartCalls, 1);
    }
    place.node.mount(2, {});
    await using agent = await place.agent([], 2);
    await agent.removes();
    assert.equal(place.node.file, undefined);
  }
});

test("removes everything except a directory that another program made in our folder", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  {
    await using agent = await place.agent();
    await agent.proves();
  }
  mkdirSync(`${node.folder}/backup/of-theirs`, { recursive: true });
  node.mount(2, {});
  await using agent = await place.agent([], 2);
  await agent.removes();
  assert.deepEqual([node.file, ...node.kept], [undefined, "backup"]);
});

test("leaves a newer agent's journal unchanged if the journal's version is too new for this agent", async () => {
  await using place = await AgentPlace.make();
  mkdirSync(place.node.folder);
  const text = '{"version":9,"reads":9}';
  writeFileSync(`${place.node.folder}/journal.json`, text);
  await using agent = await place.agent();
  await agent.shows("GPS222");
  assert.equal(readFileSync(`${place.node.folder}/journal.json`, "utf8"), text);
  assert.equal(place.node.file, undefined);
});
