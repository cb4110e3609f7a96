/** The node's lock with real sockets. In lock.slow.test.ts, processes die at any moment. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { temporary } from "#test/temporary.ts";
import { until } from "#test/cluster/await.ts";
import { seeded } from "#test/random.ts";
import { hasCode } from "../files/errno.ts";
import { Lock } from "./lock.ts";

function place(t: TestContext): string {
  const root = temporary(t);
  return join(root, "own");
}

test("gives the lock to one of two agents, and to the other agent after a release", async (t) => {
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
  assert.equal(readdirSync(folder).length, 1, "a waiting agent leaves nothing in the folder");
  first.release();
  assert.deepEqual([first.held, await second.acquire()], [false, true]);
  second.release();
  assert.deepEqual(readdirSync(folder), []);
});

test("never gives the lock to two agents at once while six agents contend again and again", async (t) => {
  const folder = place(t);
  const random = seeded(t);
  let [holders, most, rounds] = [0, 0, 0];
  const contend = async () => {
    const lock = new Lock(folder);
    while (rounds < 20) {
      if (await lock.acquire(true)) {
        most = Math.max(most, (holders += 1));
        rounds += 1;
        await setTimeout(random.below(3));
        holders -= 1;
        lock.release();
      }
      await setTimeout(random.below(10));
    }
  };
  await Promise.all(Array.from({ length: 6 }, contend));
  assert.equal(most, 1);
});

test("considers a node without a folder unlocked, and creates the folder only if needed", async (t) => {
  const folder = place(t);
  const lock = new Lock(folder);
  assert.deepEqual([await lock.acquire(), lock.held, existsSync(folder)], [true, false, false]);
  assert.equal(await lock.acquire(true), true);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  rmSync(folder, { recursive: true });
  assert.deepEqual([lock.held, await lock.acquire(), existsSync(folder)], [false, true, false]);
  assert.equal(await lock.acquire(true), true);
  lock.release();
});

test("reports a missing kubelet directory, or a file with the name of our folder, and creates nothing", async (t) => {
  const folder = place(t);
  const lock = new Lock(join(folder, "nobody's", "own"));
  await assert.rejects(lock.acquire(true), { code: "ENOENT" });
  assert.equal(existsSync(folder), false);
  writeFileSync(folder, "other");
  await assert.rejects(new Lock(folder).acquire(true), /not a directory/);
});

test("acquires the lock although sockets of dead agents are left over", async (t) => {
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
  lock.release();
});

test("leaves the lock to a frozen agent, also if its socket accepts no more connections", async (t) => {
  const folder = place(t);
  mkdirSync(folder);
  const path = `${folder}/lock-1`;
  const options = JSON.stringify({ path, backlog: 1 });
  const listening = `require("net").createServer().listen(${options}, () => console.log("listens"))`;
  const frozen = spawn(process.execPath, ["-e", listening]);
  t.after(() => frozen.kill("SIGKILL"));
  // The file alone does not show that it listens.
  await once(frozen.stdout, "data");
  frozen.kill("SIGSTOP");
  const isFull = async () => {
    const socket = connect(path);
    t.after(() => socket.destroy());
    const error = await once(socket, "connect").then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return hasCode(error, "EAGAIN");
  };
  await until("its queue is full", isFull, { every: 5 });
  assert.equal(await new Lock(folder).acquire(), false);
  assert.deepEqual(readdirSync(folder), ["lock-1"]);
});
