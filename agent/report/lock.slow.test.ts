/** Slow: the node's lock among processes that die at any moment. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "#test/random.ts";
import { temporary } from "#test/temporary.ts";

const skip =
  process.platform !== "linux" && "needs Linux: names of sockets that die with a process";

/**
 * A process that takes the lock. While it has the lock, it also listens on a name that the kernel
 * gives to one process at a time and releases when that process dies. The kernel closes the lock
 * and the name of a dying process one after the other. So the name might still be taken for a
 * moment when the lock is free already.
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
  lock.release();
}`;

test(
  "while six processes are killed at random, never gives the lock to two of them at once, and never leaves it to a dead process",
  { skip },
  async (t) => {
    const root = temporary(t);
    const folder = join(root, "own");
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
    // All processes must end before a hook removes the folder. `endAll` is not a hook, because a
    // failing hook prevents the next hook.
    const endAll = () =>
      Promise.all(
        children.map(async (child) => {
          const ended = child.exitCode !== null || child.signalCode !== null || once(child, "exit");
          child.kill("SIGKILL");
          await ended;
        }),
      );
    const held = () => said.split("held").length - 1;
    // Counts kills and locks instead of seconds, because a busy machine needs longer.
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
    assert.ok(said.length > before, "a surviving process gets the lock");
    assert.ok(held() >= 30 && kills >= 30, `${held()} times held, ${kills} kills`);
  },
);
