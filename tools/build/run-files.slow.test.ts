/** Slow: each test starts Node up to five times. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { until } from "#test/cluster/await.ts";
import { type How, runFiles } from "./run-files.ts";

/** Runs one test file with each of these texts, all in one process. */
async function outcome(t: TestContext, texts: readonly string[], how: Partial<How> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "run-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = texts.map((text, index) => {
    const file = join(folder, `${index}.cjs`);
    writeFileSync(file, text);
    return file;
  });
  const printed: string[] = [];
  const all = { bound: 20_000, printed: (text: string) => printed.push(text), ...how };
  return { ...(await runFiles(files, all)), printed: printed.join("") };
}

const passes = 'require("node:test").test("well", () => {});';

test("fails when the process ends early or no test ran", async (t) => {
  for (const bad of [
    'require("node:test").test("short", () => process.exit(0));',
    'require("node:test").test("short", () => process.exit(3));',
    'require("node:test").test("sets", () => void (process.exitCode = 3));',
    'require("node:test").test("skipped", { skip: "why" }, () => {});',
    'require("node:test").test("alone", { only: true }, () => {});',
  ]) {
    const { passed, lines } = await outcome(t, [bad]);
    assert.equal(passed, false, bad);
    const failed = lines.filter(({ kind }) => kind === "failed").length;
    assert.equal(failed, bad.includes("skip") ? 0 : 1, bad);
  }
});

test("ends a process that hangs in a loop or leaves a handle open", async (t) => {
  const loops = 'require("node:test").test("loops", () => { for (;;); });';
  assert.equal((await outcome(t, [loops], { bound: 1500 })).passed, false);
  const open = 'require("node:net").createServer().listen(0);';
  assert.ok((await outcome(t, [`${open}${passes}`])).passed);
});

test("generates the same cases of a law with the same seed", async (t) => {
  const root = join(import.meta.dirname, "../..");
  const law = `
    const fc = require(${JSON.stringify(join(root, "node_modules/fast-check"))});
    const played = [];
    fc.assert(fc.property(fc.integer(), (n) => void played.push(n)), { numRuns: 20 });
    require("node:test").test(played.join(), () => {});`;
  const played = async (SEED: string) =>
    (await outcome(t, [law], { env: { SEED } })).lines[0]?.name;
  for (const seed of ["7", "-7"]) assert.equal(await played(seed), await played(seed));
  assert.notEqual(await played("7"), await played("-7"));
});

/** A test that starts a program, prints both pids, and never ends. */
const starting = `
  const { spawn } = require("node:child_process");
  require("node:test").test("w", () => new Promise(() => {
    const child = spawn("sleep", ["1000"], { stdio: "inherit" });
    console.log(process.pid, child.pid);
    setInterval(() => {}, 1000);
  }));`;

const isGone = (pid: number): boolean => {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
};

/** Starts a runner for the test `starting`. Also returns the printed pids. */
async function runner(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "run-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const waits = join(folder, "waits.cjs");
  writeFileSync(waits, starting);
  const program = join(folder, "program.mjs");
  const tested = JSON.stringify(join(import.meta.dirname, "run-files.ts"));
  writeFileSync(
    program,
    `import { endedBySignal, runFiles } from ${tested};
    const { signal } = endedBySignal();
    const printed = (text) => process.stdout.write(text);
    await runFiles([${JSON.stringify(waits)}], { bound: 60_000, signal, printed });
    process.exit(7);`,
  );
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = (await once(child.stdout, "data")) as [Buffer];
  return { child, pids: String(printed).trim().split(" ").map(Number) };
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const)
  test(`leaves no process behind when the runner gets ${signal}`, async (t) => {
    const { child, pids } = await runner(t);
    assert.equal(pids.length, 2);
    const ended = once(child, "exit");
    child.kill(signal);
    await until("the processes are gone", () => pids.every(isGone));
    assert.deepEqual(await ended, signal === "SIGKILL" ? [null, signal] : [7, null]);
  });

test("leaves no process behind when the run exceeds its time", async (t) => {
  const { printed, passed } = await outcome(t, [starting], { bound: 1500, testBound: 60_000 });
  assert.equal(passed, false);
  const pids = printed.trim().split(" ").map(Number);
  assert.equal(pids.length, 2);
  await until("the processes are gone", () => pids.every(isGone));
});
