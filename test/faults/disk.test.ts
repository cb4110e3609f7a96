/**
 * The disk fails in one of three ways: strace injects errors into the agent's own calls, a tmpfs is
 * really full, or a mount is really read-only. The file always has either the whole old or the
 * whole new content, and the agent recovers from temporary trouble by itself.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  truncateSync,
  watch,
  writeFileSync,
  type FSWatcher,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import test from "node:test";
import { AgentProcess, encode, keeping, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { answeredPasswords, installProvider } from "./provider.ts";
import { until } from "../cluster/await.ts";
import { sample } from "../sample.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

const theirs = `{"auths":{"b.io":{"auth":"${encode("theirs")}"}}}`;
/** Longer than a page, so that the file system can fill up in the middle of a write. */
const long = "x".repeat(6000);
const after = JSON.stringify({
  auths: { "b.io": { auth: encode("theirs") }, "a.io": { auth: encode(long) } },
});

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}: ${stderr}`);
}

class Disk implements AsyncDisposable {
  readonly node: NodeDirectory;
  readonly systemd: ScriptedSystemd;
  readonly #ends: (() => unknown)[];
  private constructor(node: NodeDirectory, systemd: ScriptedSystemd, ends: (() => unknown)[]) {
    this.node = node;
    this.systemd = systemd;
    this.#ends = ends;
  }
  /**
   * A node whose kubelet directory is a separate mount. The command `mount` creates this mount; the
   * directory is appended to its arguments.
   */
  static async make(...mount: readonly string[]): Promise<Disk> {
    const node = new NodeDirectory(mkdtempSync(join(tmpdir(), "gps-disk-")));
    const [command, ...args] = mount;
    if (command !== undefined)
      run(command, ...args, ...(args.includes("--bind") ? [node.kubelet] : []), node.kubelet);
    const systemd = await ScriptedSystemd.start(node.systemd);
    writeFileSync(node.config, theirs);
    node.mount(1, { additional: { "a.io": long } });
    return new Disk(node, systemd, [
      () => systemd[Symbol.asyncDispose](),
      () => command && run("umount", node.kubelet),
      () => node[Symbol.dispose](),
    ]);
  }
  agent(...under: string[]): Promise<AgentProcess> {
    return AgentProcess.start(this.node, {
      revision: 1,
      healthzPort: this.systemd.healthzPort,
      under,
    });
  }
  /** Asserts that the agent has changed and restarted nothing. */
  untouched(where: string): void {
    assert.equal(this.node.file, theirs, where);
    assert.equal(this.systemd.restartCalls, 0, where);
  }
  async healed(agent: AgentProcess, where: string): Promise<void> {
    await agent.proves(60_000);
    assert.equal(this.node.file, after, where);
    assert.equal(this.systemd.restartCalls, 1, where);
    assert.deepEqual(this.node.kept, keeping(theirs), where);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) await end();
  }
}

/**
 * Returns a strace command that injects the error `name` into every `call`, or only into the calls
 * that `when` selects, in strace's syntax. strace logs the calls in `log`.
 */
function failing(call: string, name: string, when = "1+", log = "/dev/null"): string[] {
  const inject = `inject=${call}:error=${name}:when=${when}`;
  return ["strace", "-D", "-f", "-qq", "-o", log, "-e", `trace=${call}`, "-e", inject];
}

/**
 * Every content that config.json has had. The kernel queues the events of the file, so no event is
 * missed. If `inPlace` stays 0, no program wrote into the file itself, so the file had no other
 * content between two events.
 */
class Documents implements Disposable {
  readonly texts = new Set<string | undefined>();
  /** How often a program wrote into the file while the file was named config.json. */
  inPlace = 0;
  readonly #watcher: FSWatcher;
  constructor(node: NodeDirectory) {
    this.#watcher = watch(node.kubelet, (event, name) => {
      if (name !== basename(node.config)) return;
      if (event === "change") this.inPlace += 1;
      this.texts.add(node.file);
    });
  }
  [Symbol.dispose](): void {
    this.#watcher.close();
  }
}

/**
 * The number of system calls of each kind in an apply, from the agent's first observation until it
 * has restarted the kubelet.
 */
const callCounts = { fsync: 13, rename: 11, pwrite64: 5 };
const calls = Object.keys(callCounts);

test("makes as many system calls in an apply as `callCounts` lists, so that the tests below can let each call fail", async () => {
  await using disk = await Disk.make();
  const log = join(disk.node.root, "strace.log");
  const trace = ["strace", "-D", "-f", "-qq", "-o", log, "-e", `trace=${calls.join()}`];
  await using agent = await disk.agent(...trace);
  await disk.healed(agent, "traced");
  const lines = readFileSync(log, "utf8").split("\n");
  const count = (call: string) => lines.filter((line) => line.includes(`${call}(`)).length;
  assert.deepEqual(Object.fromEntries(calls.map((call) => [call, count(call)])), callCounts);
});

test("keeps the old file and reports the reason if every fsync, rename or write fails with EIO", async () => {
  for (const call of calls) {
    await using disk = await Disk.make();
    await using agent = await disk.agent(...failing(call, "EIO"));
    await agent.shows(/GPS208 .*EIO/, 30_000);
    disk.untouched(call);
    assert.doesNotMatch(agent.output, new RegExp(encode(long)));
    // The agent tries again every few seconds. Each time it removes the files that it has staged.
    assert.ok(await inTime(() => disk.node.kept.length === 0), call);
  }
});

test("if some calls fail with EIO, keeps the old or the new file whole, makes one restart and recovers", async (t) => {
  for (const [call, most] of Object.entries(callCounts)) {
    const every = Array.from({ length: most }, (_, index) => index + 1);
    for (const first of sample(t, every, 1)) {
      await using disk = await Disk.make();
      const log = join(disk.node.root, "strace.log");
      await using agent = await disk.agent(...failing(call, "EIO", `${first}..${first + 1}`, log));
      using seen = new Documents(disk.node);
      await disk.healed(agent, `${call} ${first}`);
      await until("the last event is read", () => seen.texts.has(after));
      for (const text of seen.texts) assert.ok(text === theirs || text === after, text);
      assert.equal(seen.inPlace, 0, "a file in use was written to");
      assert.match(readFileSync(log, "utf8"), /\(INJECTED\)/, `${call} ${first} never happens`);
    }
  }
});

test("keeps the old file and restarts nothing while the disk is full, and recovers when there is room", async () => {
  const wasFull: boolean[] = [];
  for (const pages of [0, 1, 2, 4, 7, 20]) {
    await using disk = await Disk.make("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs");
    const filler = join(disk.node.kubelet, "filler");
    const { bavail, bsize } = statfsSync(disk.node.kubelet);
    writeFileSync(filler, Buffer.alloc((bavail - pages) * bsize));
    await using agent = await disk.agent();
    const where = `${pages} pages free`;
    let full = false;
    assert.ok(
      await inTime(
        () => (full = agent.output.includes("GPS208")) || disk.node.file === after,
        30_000,
      ),
      where,
    );
    if (full) disk.untouched(where);
    wasFull.push(full);
    truncateSync(filler, 0);
    await disk.healed(agent, where);
  }
  assert.deepEqual([wasFull[0], wasFull.at(-1)], [true, false]);
});

test("restarts the kubelet although the disk is full, and rolls back or proves the revision when there is room", async () => {
  await using disk = await Disk.make("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs");
  const { node, systemd } = disk;
  const filler = join(node.kubelet, "filler");
  // After a failed write, the agent writes again only after 2 s.
  systemd.startLimitMicros = 2_500_000n;
  systemd.outcome = () => {
    if (systemd.restartCalls === 2) {
      const { bavail, bsize } = statfsSync(node.kubelet);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    }
    return crashes;
  };
  await using agent = await disk.agent();
  assert.ok(await inTime(() => systemd.restartCalls >= 5, 60_000), agent.output);
  assert.match(agent.output, /GPS208.*ENOSPC/);
  systemd.outcome = () => comesBack;
  truncateSync(filler, 0);
  assert.ok(
    await inTime(
      () => node.file === theirs || node.api?.reports.at(-1)?.result === "Proved",
      60_000,
    ),
    agent.output,
  );
  // The agent restores the old file first, and starts the kubelet a moment later.
  assert.ok(await inTime(() => systemd.active === "active", 60_000), agent.output);
});

test("changes nothing and reports the reason while the file system is read-only, and then recovers", async () => {
  await using disk = await Disk.make("mount", "--bind");
  run("mount", "-o", "remount,ro,bind", disk.node.kubelet);
  await using agent = await disk.agent();
  await agent.shows(/GPS208 .*EROFS/, 30_000);
  const answer = () => disk.node.api?.reports.at(-1);
  assert.ok(await inTime(() => answer()?.result === "Refused", 30_000), agent.output);
  assert.equal(answer()?.code, "GPS208");
  disk.untouched("read-only");
  run("mount", "-o", "remount,rw,bind", disk.node.kubelet);
  disk.node.ask(1, { attempt: 2 });
  await disk.healed(agent, "read-only");
});

test("creates nothing while the kubelet's directory is missing or a file has our folder's name", async () => {
  await using disk = await Disk.make();
  renameSync(disk.node.kubelet, `${disk.node.kubelet}.away`);
  await using agent = await disk.agent();
  await agent.shows("GPS208", 30_000);
  assert.equal(disk.node.file, undefined);
  assert.equal(disk.systemd.restartCalls, 0);
  writeFileSync(`${disk.node.kubelet}.away/global-pull-secret`, "somebody's");
  renameSync(`${disk.node.kubelet}.away`, disk.node.kubelet);
  // The log shows another detail of the same code after a minute.
  await agent.shows("not a directory", 100_000);
  disk.untouched("a file");
  rmSync(disk.node.folder);
  mkdirSync(disk.node.folder);
  await disk.healed(agent, "directory");
});

test("keeps the provider's old answer while the disk is full, and writes the new answer when there is room", async () => {
  let full = 0;
  for (const pages of [0, 2, 4, 6, 8, 10]) {
    await using disk = await Disk.make("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs");
    const { node, systemd } = disk;
    const where = `${pages} pages free`;
    installProvider(node.kubelet);
    node.flags = ["--delivery=CredentialProvider", "--restart=Never"];
    {
      await using first = await disk.agent();
      await first.proves();
    }
    node.mount(2, { additional: { "a.io": long.replaceAll("x", "y") } });
    const old = answeredPasswords(node.kubelet);
    const filler = join(node.kubelet, "filler");
    const { bavail, bsize } = statfsSync(node.kubelet);
    writeFileSync(filler, Buffer.alloc((bavail - pages) * bsize));
    const { healthzPort } = systemd;
    await using agent = await AgentProcess.start(node, { revision: 2, healthzPort });
    const served = () => answeredPasswords(node.kubelet)?.["a.io"]?.[0] === "y";
    assert.ok(await inTime(() => agent.output.includes("GPS208") || served(), 30_000), where);
    if (!served()) {
      full += 1;
      assert.deepEqual(answeredPasswords(node.kubelet), old, where);
    }
    truncateSync(filler, 0);
    await agent.proves(60_000);
    assert.ok(served(), where);
    assert.equal(systemd.restartCalls, 0, where);
  }
  assert.ok(full > 0, "the disk was never full");
});
