/** The node's lock, with real sockets and real processes that die at any moment. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#test/cluster/await.ts";
import { seeded } from "#test/random.ts";
import { Lock } from "./lock.ts";

function place(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), "gps-lock-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  return join(root, "own");
}

test("of two agents one has the lock, and the other one gets it when that one has given it up", async (t) => {
  const folder = place(t);
  const [first, second] = [new Lock(folder), new Lock(folder)];
  assert.deepEqual(
    [await first.acquire(true), await first.acquire(), first.held],
    [true, true, true],
  );
  assert.deepEqual(
    [await second.acquire(), await second.acquire(true), second.held],
    [false, false, false],
  );
  assert.equal(readdirSync(folder).length, 1, "who waits leaves nothing in the folder");
  first.giveUp();
  assert.deepEqual([first.held, await second.acquire()], [false, true]);
  second.giveUp();
  assert.deepEqual(readdirSync(folder), []);
});

test("where there is no folder nobody has done anything, and none is made unless it is needed", async (t) => {
  const folder = place(t);
  const lock = new Lock(folder);
  assert.deepEqual([await lock.acquire(), lock.held, existsSync(folder)], [true, false, false]);
  assert.equal(await lock.acquire(true), true);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  rmSync(folder, { recursive: true });
  assert.deepEqual([lock.held, await lock.acquire(), existsSync(folder)], [false, true, false]);
  assert.equal(await lock.acquire(true), true);
  lock.giveUp();
});

test("where the kubelet's directory is missing, or something else has our name, that is told and nothing is made up", async (t) => {
  const folder = place(t);
  const lock = new Lock(join(folder, "nobody's", "own"));
  await assert.rejects(lock.acquire(true), { code: "ENOENT" });
  assert.equal(existsSync(folder), false);
  writeFileSync(folder, "somebody's");
  await assert.rejects(new Lock(folder).acquire(true), /not a directory/);
});

test("whatever is left of the dead locks nobody out", async (t) => {
  const folder = place(t);
  mkdirSync(folder);
  const dead = spawn(process.execPath, [
    "-e",
    `require("net").createServer().listen(${JSON.stringify(`${folder}/lock-1`)})`,
  ]);
  await until("it has the lock", () => existsSync(`${folder}/lock-1`), { every: 5 });
  dead.kill("SIGKILL");
  await new Promise((resolve) => dead.once("exit", resolve));
  writeFileSync(`${folder}/lock-2`, "");
  mkdirSync(`${folder}/lock-3`);
  mkdirSync(`${folder}/lock-4/something`, { recursive: true });
  writeFileSync(`${folder}/journal.json`, "{}");
  const lock = new Lock(folder);
  assert.equal(await lock.acquire(), true);
  const names = readdirSync(folder).filter((name) => !/^lock-[0-9a-f]{16}$/.test(name));
  assert.deepEqual(names.toSorted(), ["journal.json", "lock-4"]);
  lock.giveUp();
});

/**
 * Takes the lock, and while it has it a name that the kernel lets one process have at a time and
 * takes back when that one dies. A dying process closes one after the other: a moment's overlap of
 * the names is none of the lock.
 */
const contender = `
import { createServer } from "node:net";
import { Lock } from ${JSON.stringify(join(import.meta.dirname, "lock.ts"))};
import { Random } from ${JSON.stringify(join(import.meta.dirname, "../../test/random.ts"))};
const [folder, name, seed] = process.argv.slice(1);
const random = new Random(Number(seed));
const lock = new Lock(folder);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const witness = () => new Promise((resolve) => {
  const server = createServer().once("error", () => resolve()).listen("\\0" + name, () => resolve(server));
});
for (;;) {
  const got = await lock.acquire(true).catch(() => false);
  if (!got) { await sleep(random.fraction() * 3); continue; }
  let server;
  for (let tries = 0; tries < 10 && server === undefined; tries++) server = await witness() ?? void (await sleep(1));
  process.stdout.write(server === undefined ? "TWO\\n" : "held\\n");
  await sleep(15 + random.fraction() * 20);
  await new Promise((resolve) => server ? server.close(resolve) : resolve());
  lock.giveUp();
}`;

test("six processes that are killed at random: never two have it at once, and it never stays with a dead one", async (t) => {
  const folder = place(t);
  const random = seeded(t);
  const name = `gps-lock-${process.pid}-${Date.now()}`;
  let said = "";
  const start = () => {
    const its = [folder, name, String(random.below(2 ** 32))];
    const child = spawn(process.execPath, ["--input-type=module", "-e", contender, ...its]);
    child.stdout.on("data", (data) => (said += String(data)));
    child.stderr.on("data", (data) => (said += String(data)));
    return child;
  };
  const children: ChildProcess[] = Array.from({ length: 6 }, start);
  // Ended before the folder is removed: hooks run in their order, and one that fails keeps the next
  // from running.
  const endAll = () =>
    Promise.all(
      children.map(async (child) => {
        const ended = child.exitCode !== null || child.signalCode !== null || once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }),
    );
  const held = () => said.split("held").length - 1;
  // By their number, not by the clock: a busy machine needs longer for them.
  const longest = performance.now() + 60_000;
  let [kills, before] = [0, 0];
  try {
    while ((kills < 30 || held() < 30) && performance.now() < longest) {
      await sleep(20 + random.fraction() * 100);
      const at = random.below(children.length);
      kills += Number(children[at]?.kill("SIGKILL"));
      children[at] = start();
    }
    before = said.length;
    while (said.length === before && performance.now() < longest + 10_000) await sleep(10);
  } finally {
    await endAll();
  }
  t.diagnostic(`${held()} times held, ${kills} kills`);
  assert.doesNotMatch(said, /TWO|Error/);
  assert.ok(said.length > before, "the last ones alive get it");
  assert.ok(held() >= 30 && kills >= 30, `${held()} times held, ${kills} kills`);
});
