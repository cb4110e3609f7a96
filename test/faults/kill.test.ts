/**
 * SIGKILL at file operations: strace kills the agent as it enters its nth rename, fsync or unlink, the next agent goes on.
 * Whatever the point, the end is the one of an agent that was never killed, and no restart is made twice.
 *
 * `npm test` takes a sample, its seed printed; with EVERY_POINT=1 all of them are tried.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import test, { type TestContext } from "node:test";
import { Agent, encode, Node } from "./agent.ts";
import { startBus } from "./bus.ts";
import { comesBack, crashes, ScriptedSystemd } from "./scripted-systemd.ts";

const theirs = `{"auths":{"a.io":{"auth":"${encode("theirs")}"}}}`;
const ours = JSON.stringify({ auths: { "a.io": { auth: encode("ours") } } });

type Point = Readonly<{ call: string; nth: number }>;
type Place = Readonly<{ node: Node; systemd: ScriptedSystemd }>;

/** Calls that an undisturbed run makes: write-file-atomic renames its own temporary file, then we rename ours. */
type Calls = Readonly<Record<"rename" | "fsync" | "unlink", number>>;
const applying: Calls = { rename: 12, fsync: 17, unlink: 12 };
const draining: Calls = { rename: 12, fsync: 18, unlink: 13 };
const rollingBack: Calls = { rename: 26, fsync: 37, unlink: 26 };

function chosen(t: TestContext, calls: Calls, count: number): readonly Point[] {
  const points = Object.entries(calls).flatMap(([call, most]) =>
    Array.from({ length: most }, (_, index) => ({ call, nth: index + 1 })),
  );
  if (process.env["EVERY_POINT"]) return points;
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  t.diagnostic(`SEED=${seed}`);
  const step = Math.floor(points.length / count);
  return Array.from({ length: count }, (_, index) => points[(seed + index * step) % points.length] as Point);
}

function strace({ call, nth }: Point): string[] {
  return [
    "strace",
    "-D",
    "-f",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:signal=KILL:when=${nth}`,
  ];
}

/**
 * Runs an agent that is killed at the point, then one that is not, until it shows `code` or ends. Answers whether the first
 * one was killed indeed: it may have fewer operations of that kind.
 */
async function interrupted({ node, systemd }: Place, revision: number, point: Point, code: string): Promise<boolean> {
  const options = { revision, healthzPort: systemd.healthzPort };
  let killed: boolean;
  {
    await using first = await Agent.start(node, { ...options, under: strace(point) });
    await Promise.race([
      first.ended(),
      first.shows(200, code).catch(() => {}),
      first.shows(503, "GPS219").catch(() => {}),
    ]);
    killed = first.child.signalCode === "SIGKILL";
  }
  for (let run = 0; run < 3; run += 1) {
    await using next = await Agent.start(node, options);
    const seen = await Promise.race([next.ended(), code === "GPS219" ? next.shows(503, code) : next.shows(200, code)]);
    if (typeof seen === "string" && seen.includes(code)) return killed;
  }
  assert.fail(`never ${code}`);
}

async function prepare(t: TestContext): Promise<Place & AsyncDisposable> {
  const node = new Node();
  const bus = await startBus(node.dbus);
  const systemd = await ScriptedSystemd.start(bus.address);
  systemd.startLimitMicros = 100_000n;
  writeFileSync(node.config, theirs, { mode: 0o640 });
  t.signal.throwIfAborted();
  return {
    node,
    systemd,
    [Symbol.asyncDispose]: async () => {
      await systemd[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
      node[Symbol.dispose]();
    },
  };
}

test("an agent killed at any operation of an apply is made good by the next one, with one restart", async (t) => {
  let kills = 0;
  for (const point of chosen(t, applying, 3)) {
    await using place = await prepare(t);
    const { node, systemd } = place;
    node.mount(1, { additional: { "a.io": "ours" } });
    kills += Number(await interrupted(place, 1, point, "GPS200"));
    const where = `${point.call} ${point.nth}`;
    assert.equal(node.file, ours, where);
    assert.equal(systemd.restartCalls, 1, where);
    assert.deepEqual(readdirSync(node.folder), ["journal.json"], where);
    assert.equal(JSON.parse(readFileSync(`${node.folder}/journal.json`, "utf8")).phase, "applied", where);
  }
  t.diagnostic(`${kills} kills`);
  assert.ok(kills > 0);
});

test("an agent killed at any operation of a drain is made good by the next one, and nothing of ours is left", async (t) => {
  let kills = 0;
  for (const point of chosen(t, draining, 3)) {
    await using place = await prepare(t);
    const { node, systemd } = place;
    node.mount(1, { additional: { "a.io": "ours" } });
    {
      await using agent = await Agent.start(node, { revision: 1, healthzPort: systemd.healthzPort });
      await agent.shows(200, "GPS200");
    }
    node.mount(2, {});
    kills += Number(await interrupted(place, 2, point, "GPS224"));
    const where = `${point.call} ${point.nth}`;
    assert.equal(node.file, theirs, where);
    assert.equal(systemd.restartCalls, 2, where);
    assert.ok(!existsSync(node.folder), where);
  }
  t.diagnostic(`${kills} kills`);
  assert.ok(kills > 0);
});

test("H18: an agent killed at any operation of a rollback is made good by the next one, with no restart too many", async (t) => {
  let kills = 0;
  for (const point of chosen(t, rollingBack, 2)) {
    await using place = await prepare(t);
    const { node, systemd } = place;
    systemd.fate = () => (node.file === ours ? crashes : comesBack);
    node.mount(1, { additional: { "a.io": "ours" } });
    kills += Number(await interrupted(place, 1, point, "GPS219"));
    const where = `${point.call} ${point.nth}`;
    assert.equal(node.file, theirs, where);
    assert.equal(systemd.restartCalls, 4, where);
    assert.equal(systemd.active, "active", where);
    assert.deepEqual(readdirSync(node.folder), ["journal.json"], where);
  }
  t.diagnostic(`${kills} kills`);
  assert.ok(kills > 0);
});
