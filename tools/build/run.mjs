// The door of every npm script: `node tools/build/run.mjs FILE.ts [args]`.
//
// Plain JavaScript without dependencies, because on a fresh checkout nothing else can run yet. It
// needs Node 20 and npm. It installs the locked packages when they are missing or outdated, then
// runs FILE.ts with the pinned Node, which npm delivers as a platform package for Linux. On another
// platform the machine's own Node runs it, if it is 24 or newer. A shell line `setup && node
// FILE.ts` would not do: the shell remembers where it found `node` the first time and would go on
// with the machine's older one.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const stamp = join(root, "node_modules", ".installed-from");
const pinned = `node_modules/node-${process.platform}-${process.arch}`;

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const { node: version } = process.versions;
const major = Number(version.split(".")[0]);
if (major < 20) fail(`Node ${version} is too old. Install Node 20 or newer.`);

const lock = readFileSync(join(root, "package-lock.json"));
// Before a minute of installing.
if (!(pinned in JSON.parse(lock).packages)) own();

/** The machine's own Node, if the pinned one is missing or does not run. */
function own(reason = `npm has no newer one for ${process.platform} on ${process.arch}`) {
  if (major >= 24) return process.execPath;
  return fail(`Node ${version} is too old, and ${reason}. Install Node 24 or newer.`);
}

const wanted = createHash("sha256").update(lock).digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
if (installed !== wanted) {
  process.stderr.write("installing the locked packages (npm ci)\n");
  // Included whatever NODE_ENV or the user's npm configuration leave out.
  const ci = spawnSync("npm", ["ci", "--include=dev", "--include=optional", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (ci.status !== 0) fail("npm ci failed: see the lines above");
  writeFileSync(stamp, wanted);
}

let child;
function run(node) {
  child = spawn(node, process.argv.slice(2), {
    cwd: root,
    stdio: "inherit",
    // That Node first, so that programs started from here find it by name.
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
  });
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
  child.on("error", (error) => {
    if (node === process.execPath) fail(`${node}: ${error.message}`);
    // ENOENT of a file that is there: its loader is absent.
    run(own("the one that npm installed needs glibc, which this machine lacks"));
  });
}

// Ctrl-C reaches the child by itself (same process group): wait for its clean-up. Other signals are
// passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const pinnedNode = join(root, pinned, "bin", "node");
run(existsSync(pinnedNode) ? pinnedNode : own());
