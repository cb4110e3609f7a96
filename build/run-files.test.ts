import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inOrder } from "./run-files.ts";

test("what is not known yet begins first, then what took longest, and equals stay in order", () => {
  const took = { "a.ts": 3, "b.ts": 90, "d.ts": 3 };
  assert.deepEqual(inOrder(["a.ts", "b.ts", "c.ts", "d.ts"], took), [
    "c.ts",
    "b.ts",
    "a.ts",
    "d.ts",
  ]);
});

/** Runs these files in a process of its own: a test runner inside a test runs nothing. */
function outcome(
  folder: string,
  files: Readonly<Record<string, string>>,
  env: object = {},
  kept = "{}",
) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const durations = join(folder, "seconds.json");
  writeFileSync(durations, kept);
  const how = { concurrency: 2, bound: 20_000, tap: join(folder, "run.tap"), durations };
  const script = `
    const { runFiles } = await import(${JSON.stringify(join(import.meta.dirname, "run-files.ts"))});
    process.exit((await runFiles(...${JSON.stringify([paths, how])})) ? 0 : 1);`;
  const program = join(folder, "program.mjs");
  writeFileSync(program, script);
  const { NODE_TEST_CONTEXT: _context, ...outer } = process.env;
  const { status, stdout } = spawnSync(process.execPath, [program], {
    env: { ...outer, ...env },
    encoding: "utf8",
  });
  const tap = readFileSync(how.tap, "utf8");
  return { status, stdout, tap, seconds: Object.keys(JSON.parse(readFileSync(durations, "utf8"))) };
}

const passes = 'require("node:test").test("well", () => {});';

test("a run fails with one test, with a file that cannot be loaded, and with one that ends too early", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "run-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const well = outcome(folder, { "a.cjs": passes, "b.cjs": passes });
  assert.equal(well.status, 0);
  assert.match(well.stdout, /✔ well/);
  assert.match(well.tap, /^# pass 2$/m);
  assert.equal(well.seconds.length, 2);
  for (const bad of [
    'require("node:test").test("ill", () => { throw new Error("no"); });',
    'require("./nothing.cjs");',
    'require("node:test").test("short", () => process.exit(3));',
  ])
    assert.equal(outcome(folder, { "a.cjs": passes, "b.cjs": bad }).status, 1, bad);
});

test("what files took is kept beside what others took, and a file of it that was cut off counts as none", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "run-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const beside = outcome(folder, { "a.cjs": passes }, {}, '{"elsewhere.ts":7}');
  assert.equal(beside.seconds.length, 2);
  assert.ok(beside.seconds.includes("elsewhere.ts"));
  const cut = outcome(folder, { "a.cjs": passes }, {}, '{"elsewhere.ts":');
  assert.equal(cut.status, 0);
  assert.equal(cut.seconds.length, 1);
});

test("a word that no test file has in its path is named, and nothing is called well", () => {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const program = [join(import.meta.dirname, "test.ts"), "unit", "lanes", "no-such-file"];
  const { status, stderr } = spawnSync(process.execPath, program, { env, encoding: "utf8" });
  assert.notEqual(status, 0);
  assert.match(stderr, /no-such-file: no test file of unit has it in its path/);
  assert.doesNotMatch(stderr, /lanes: no/);
});

test("with SEED a law plays what it has played, without it something else", (t) => {
  // Beside the sources: fast-check is found from here.
  const folder = mkdtempSync(join(import.meta.dirname, "seeded-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const samples = join(import.meta.dirname, "../test/sample.ts");
  const law = `import fc from "fast-check"; import { test } from "node:test";
    import { sample } from ${JSON.stringify(samples)};
    test("law", (t) => {
      t.diagnostic(String([...fc.sample(fc.nat(), 3), ...sample(t, [1, 2, 3, 4, 5], 2)]));
    });`;
  const played = (env: object) => {
    const { status, tap } = outcome(folder, { "a.mjs": law }, env);
    assert.equal(status, 0);
    return /^# (\d+(?:,\d+){4})$/m.exec(tap)?.[1] ?? assert.fail(tap);
  };
  // Every other seed that a law prints is negative.
  for (const SEED of ["7", "-7"]) {
    assert.equal(played({ SEED }), played({ SEED }));
    assert.notEqual(played({ SEED }), played({ SEED: "" }));
  }
});
