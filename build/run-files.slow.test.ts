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

test("counts what passed, what was skipped and why, and what failed", async (t) => {
  const skips = 'require("node:test").test("later", { skip: "needs Linux" }, () => {});';
  const well = await outcome(t, [passes, skips]);
  assert.ok(well.passed);
  assert.deepEqual(
    well.lines.map(({ kind, name, ...more }) => [kind, name, "note" in more ? more.note : ""]),
    [
      ["passed", "well", ""],
      ["skipped", "later", "needs Linux"],
    ],
  );
});

test("fails when a test fails, a file cannot be loaded, a process ends early or nothing ran", async (t) => {
  for (const bad of [
    'require("node:test").test("ill", () => { throw new Error("no"); });',
    'require("./nothing.cjs");',
    'require("node:test").test("short", () => process.exit(0));',
    'require("node:test").test("short", () => process.exit(3));',
  ])
    assert.equal((await outcome(t, [passes, bad])).passed, false, bad);
  assert.equal((await outcome(t, ["// no test"])).passed, false);
});

test("fails when a test leaves something behind that fails later", async (t) => {
  for (const late of [
    "void Promise.reject(new Error('late'))",
    "setTimeout(() => { throw new Error('late'); }, 1)",
  ]) {
    const text = `require("node:test").test("early", () => { ${late}; });
      require("node:test").test("waits", (t) => new Promise((end) => setTimeout(end, 50)));`;
    const { passed, lines } = await outcome(t, [text]);
    assert.equal(passed, false, late);
    assert.ok(
      lines.some((line) => line.kind === "failed" && line.error.includes("late")),
      late,
    );
  }
});

test("ends a process that hangs in a loop or leaves a handle open", async (t) => {
  const loops = 'require("node:test").test("loops", () => { for (;;); });';
  assert.equal((await outcome(t, [loops], { bound: 1500 })).passed, false);
  const open = 'require("node:net").createServer().listen(0);';
  assert.ok((await outcome(t, [`${open}${passes}`])).passed);
});

test("hands on what tests print, beside the lines of the report", async (t) => {
  const prints =
    'require("node:test").test("p", () => { console.log("out"); console.error("err"); });';
  const { printed, lines } = await outcome(t, [prints]);
  assert.match(printed, /^out$/m);
  assert.match(printed, /^err$/m);
  assert.equal(lines.length, 1);
});

test("plays the same law with the same seed", async (t) => {
  const root = join(import.meta.dirname, "..");
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

test("ends its tests when it is ended itself", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "run-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const waits = join(folder, "waits.cjs");
  writeFileSync(
    waits,
    'require("node:test").test("w", () => new Promise(() => { console.log(process.pid); setInterval(() => {}, 1000); }));',
  );
  const program = join(folder, "program.mjs");
  const runner = JSON.stringify(join(import.meta.dirname, "run-files.ts"));
  writeFileSync(
    program,
    `import { runFiles } from ${runner};
    process.once("SIGTERM", () => process.exit(1));
    await runFiles([${JSON.stringify(waits)}], { bound: 60_000, printed: (text) => process.stdout.write(text) });`,
  );
  const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
  const run = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = (await once(run.stdout, "data")) as [Buffer];
  const pid = Number(String(printed).trim());
  run.kill("SIGTERM");
  await until("the process of the tests is gone", () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
});
