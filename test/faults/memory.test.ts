/** The agent as it is deployed, in a memory cgroup with the DaemonSet's limit. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { AgentProcess, encode, inTime } from "../harness/agent/agent.ts";
import { many } from "../harness/agent/deployed.ts";
import { AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

const limit = 96 * 1024 * 1024;
/** The names of the memory controller's files in version 1 and version 2 of cgroups. */
const versions = [
  {
    name: "version 1",
    hierarchy: "/sys/fs/cgroup/memory",
    isThere: (root: string) => existsSync(join(root, "memory.limit_in_bytes")),
    limit: "memory.limit_in_bytes",
    most: "memory.max_usage_in_bytes",
    kills: "memory.oom_control",
  },
  {
    name: "version 2",
    hierarchy: "/sys/fs/cgroup",
    isThere: (root: string) => enable(root),
    limit: "memory.max",
    most: "memory.peak",
    kills: "memory.events",
  },
];

/**
 * Enables the memory controller for groups below the root of cgroup v2. Returns false if cgroup v2
 * has no memory controller on this machine.
 */
function enable(root: string): boolean {
  const control = join(root, "cgroup.subtree_control");
  const controllers = join(root, "cgroup.controllers");
  if (!existsSync(controllers) || !/\bmemory\b/.test(readFileSync(controllers, "utf8")))
    return false;
  writeFileSync(control, "+memory");
  return true;
}

/**
 * Fails if the machine has no memory controller, because every machine that can run the other tests
 * has one.
 */
const controller =
  versions.find(({ hierarchy, isThere }) => isThere(hierarchy)) ??
  assert.fail("no memory controller of cgroups, neither version 1 nor 2");

/**
 * Creates a cgroup directly below the root of the memory controller, so that no other group's limit
 * applies.
 */
function cgroup(t: TestContext): string {
  const group = join(controller.hierarchy, `gps-test-${process.pid}-${randomUUID()}`);
  mkdirSync(group);
  writeFileSync(join(group, controller.limit), String(limit));
  t.after(async () => {
    assert.ok(await inTime(() => readFileSync(join(group, "cgroup.procs"), "utf8") === ""));
    rmdirSync(group);
  });
  return group;
}

/** The agent of a node, in a cgroup of its own, as the DaemonSet starts it. */
async function deployed(t: TestContext, { node, systemd }: AgentPlace) {
  const group = cgroup(t);
  const read = (name: string) => readFileSync(join(group, name), "utf8");
  const under = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group];
  const options = { healthzPort: systemd.healthzPort, under };
  return {
    start: (revision: number) => AgentProcess.start(node, { ...options, revision }),
    inGroup: ({ child }: AgentProcess) =>
      assert.match(read("cgroup.procs"), new RegExp(`^${child.pid}$`, "m")),
    judge: () => {
      const most = Number(read(controller.most));
      t.diagnostic(
        `at most ${(most / 1024 / 1024).toFixed(1)} MiB with the files that it read and wrote`,
      );
      assert.match(read(controller.kills), /^oom_kill 0$/m);
      return most;
    },
  };
}

test("stays below a limit of 96 MiB with a Secret of 1 MiB and 1 MiB of other programs' entries in config.json", async (t) => {
  await using place = await AgentPlace.make();
  const { node } = place;
  const { start, inGroup, judge } = await deployed(t, place);
  const theirs = Object.entries(many("n")).map(
    ([key, password]) => [key, { auth: encode(password) }] as const,
  );
  writeFileSync(node.config, JSON.stringify({ auths: Object.fromEntries(theirs) }));
  for (const revision of [1, 2, 3]) {
    node.mount(revision, revision === 3 ? {} : { additional: many(`s${revision}-`) });
    await using agent = await start(revision);
    await (revision === 3 ? agent.removes(60_000) : agent.proves(60_000));
    inGroup(agent);
  }
  assert.equal(JSON.parse(node.file ?? "").auths["s1-0.example"], undefined);
  assert.ok(judge() < limit);
});

/**
 * Applies a Secret of the largest size, rolls back a second Secret, and restores config.json in a
 * withdrawal. config.json has at least `size` bytes. It contains another program's entry for each
 * key of the Secret, so that all these entries are displaced, and `small` more entries with the
 * shortest credentials.
 */
async function applyRollBackAndRestore(t: TestContext, size: number, small: number): Promise<void> {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  systemd.startLimitMicros = 100_000n;
  const { start, judge } = await deployed(t, place);
  const inOurPlace = Object.entries(many("s")).map(
    ([key, password]) => [key, { auth: encode(`theirs-${password}`) }] as const,
  );
  const beside = Array.from(
    { length: small },
    (_, index) => [`k${index}`, { auth: encode("k") }] as const,
  );
  const auths = Object.fromEntries([...inOurPlace, ...beside]);
  // `note` begins with a character that makes V8 use two bytes for each character of the text. `n`
  // is a number, because the agent also keeps the text of each number.
  const least = Buffer.byteLength(JSON.stringify({ auths, note: "\u20ac", n: 1.5 }));
  const note = `\u20ac${"y".repeat(Math.max(0, size - least))}`;
  const before = JSON.stringify({ auths, note, n: 1.5 });
  writeFileSync(node.config, before);
  node.mount(1, { additional: many("s") });
  {
    await using agent = await start(1);
    await agent.proves(60_000);
  }
  const applied = node.file;
  const changed = Object.fromEntries(
    Object.entries(many("s")).map(([key, password]) => [key, password.replace("x", "z")]),
  );
  node.mount(2, { additional: changed });
  systemd.script = [crashes, crashes, crashes, comesBack];
  {
    await using agent = await start(2);
    await agent.fails(60_000);
    assert.equal(node.file, applied);
  }
  node.mount(3, {});
  await using agent = await start(3);
  await agent.removes(60_000);
  assert.equal(node.file, before);
  judge();
}

test("applies, rolls back and restores when each key of the largest Secret displaces an entry of the largest config.json", (t) =>
  applyRollBackAndRestore(t, 2 * 1024 * 1024, 0));

test("applies, rolls back and restores when config.json has as many small entries as the agent accepts", (t) =>
  applyRollBackAndRestore(t, 0, 5200));

test("keeps the same limit in the other version of cgroups", (t) => {
  // A machine has its memory controller in only one version of cgroups, so one run can test only
  // this version.
  const others = versions.filter((version) => version !== controller).map(({ name }) => name);
  t.skip(`${others.join()}: this machine has its memory controller in ${controller.name}`);
});
