/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, {
  chmodSync,
  chownSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test from "node:test";
import { temporary } from "#test/temporary.ts";
import { needsRoot } from "./needs.fixture.ts";
import { readOwn, readRegular } from "./own-file.ts";

test("reads a file up to the limit, and no byte of a larger file", (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "1234");
  assert.deepEqual(readRegular(file, 4, "refuse"), { bytes: Buffer.from("1234") });
  assert.deepEqual(readRegular(file, 3, "refuse"), { large: 4 });
  assert.equal(readOwn(file, 3).kind, "refused");
});

test("does not wait for a FIFO, and reads no directory", { timeout: 10_000 }, (t) => {
  const root = temporary(t);
  const [fifo, directory] = [join(root, "fifo"), join(root, "directory")];
  assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
  mkdirSync(directory);
  const program = `
    import { readRegular } from ${JSON.stringify(import.meta.resolve("./own-file.ts"))};
    process.stdout.write(JSON.stringify(readRegular(${JSON.stringify(fifo)}, 4, "refuse")));`;
  // In a process of its own, because a blocking open would stop this one.
  const args = ["--input-type=module", "-e", program];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 5000 });
  assert.equal(stdout, '{"irregular":true}');
  assert.deepEqual(readRegular(directory, 4, "refuse"), { irregular: true });
});

test("names the size of a file that is too large, and the limit", (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "");
  truncateSync(file, 3 * 1024 * 1024);
  const why = "it has 3145728 bytes, more than 2 MiB";
  assert.deepEqual(readOwn(file, 2 * 1024 * 1024), { kind: "refused", why });
});

test("names the owner of a file of another user", { skip: needsRoot }, (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "1");
  const ours = readOwn(file, 4);
  assert.ok(ours.kind === "file" && ours.owner === undefined);
  for (const [user, group] of [
    [12, 0],
    [0, 34],
  ] as const) {
    chownSync(file, user, group);
    const theirs = readOwn(file, 4);
    assert.ok(theirs.kind === "file" && theirs.owner === `${user}:${group}`);
  }
});

const races: readonly (readonly [change: string, make: (file: string) => void])[] = [
  ["rewrites it with as many bytes", (file) => writeFileSync(file, "2")],
  [
    "replaces it with a file of the same size",
    (file) => {
      writeFileSync(`${file}.new`, "2");
      renameSync(`${file}.new`, file);
    },
  ],
  ["removes it", (file) => rmSync(file)],
  ["changes its mode", (file) => chmodSync(file, 0o640)],
];
for (const [change, make] of races)
  test(`does not take a file for what it was if another program ${change} after the read`, (t) => {
    const file = join(temporary(t), "file");
    writeFileSync(file, "1", { mode: 0o600 });
    // The clock of the file system can be too coarse for a second write.
    utimesSync(file, 1, 1);
    const close = fs.closeSync;
    const mocked = t.mock.method(fs, "closeSync", (descriptor: number) => {
      close(descriptor);
      make(file);
    });
    t.after(() => {
      mocked.mock.restore();
      syncBuiltinESMExports();
    });
    syncBuiltinESMExports();
    const own = readOwn(file, 4);
    assert.deepEqual(own, { kind: "changing" });
  });

test("follows a link only if it may", (t) => {
  const root = temporary(t);
  const [file, link] = [join(root, "file"), join(root, "link")];
  writeFileSync(file, "1");
  symlinkSync(file, link);
  assert.deepEqual(readRegular(link, 4, "follow"), { bytes: Buffer.from("1") });
  assert.throws(() => readRegular(link, 4, "refuse"), { code: "ELOOP" });
  assert.equal(readOwn(link, 4).kind, "refused");
});
