// The entry of every npm script: `node tools/build/run.mjs FILE.ts [args]`.
//
// Plain JavaScript without dependencies, because on a fresh checkout nothing else can run yet. It
// needs Node 20 and npm. It installs the locked packages if they are missing or outdated, then runs
// FILE.ts with the pinned Node, which npm installs as a platform package for Linux. On other
// platforms it uses the machine's Node, which must be 24 or newer. A shell line `setup && node
// FILE.ts` would not work, because the shell remembers where it first found `node`, and would use
// the machine's older Node again.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const pinned = `node_modules/node-${process.platform}-${process.arch}`;

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const { node: version } = process.versions;
const major = Number(version.split(".")[0]);
if (major < 20) fail(`Node ${version} is too old. Install Node 20 or newer.`);

const packagesIn = (file) => JSON.parse(readFileSync(join(root, file), "utf8")).packages;
const locked = packagesIn("package-lock.json");
// Checks the machine's Node before the installation, which takes a minute.
if (!(pinned in locked)) own();

/**
 * The machine's Node, used if npm has no pinned Node for the machine, or if the pinned Node does
 * not run.
 */
function own(reason = `npm has no newer one for ${process.platform} on ${process.arch}`) {
  if (major >= 24) return process.execPath;
  return fail(`Node ${version} is too old, and ${reason}. Install Node 24 or newer.`);
}

/**
 * Whether all locked packages are installed, by the record that npm writes at the end. Packages for
 * other platforms are optional, and missing in the record.
 */
function isInstalled() {
  const record = "node_modules/.package-lock.json";
  if (!existsSync(join(root, record))) return false;
  const { "": _, ...packages } = locked;
  const installed = packagesIn(record);
  return Object.entries(packages).every(([path, { integrity, optional }]) =>
    path in installed ? installed[path].integrity === integrity : optional && path !== pinned,
  );
}

if (!isInstalled()) {
  process.stderr.write("installing the locked packages (npm ci)\n");
  // These flags include packages that NODE_ENV or the user's npm configuration would leave out.
  const ci = spawnSync("npm", ["ci", "--include=dev", "--include=optional", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (ci.status !== 0) fail("npm ci failed: see the lines above");
}

let child;
function run(node) {
  child = spawn(node, process.argv.slice(2), {
    cwd: root,
    stdio: "inherit",
    // Puts this Node first on the PATH, so that programs that are started from here find it by
    // name.
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
  });
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
  child.on("error", (error) => {
    if (node === process.execPath) fail(`${node}: ${error.message}`);
    // ENOENT although the file exists means that the machine lacks the dynamic loader of this Node.
    run(own("the one that npm installed needs glibc, which this machine lacks"));
  });
}

// Ctrl-C also reaches the child, because it is in the same process group. Therefore only wait until
// the child has ended. Pass on other signals.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const pinnedNode = join(root, pinned, "bin", "node");
run(existsSync(pinnedNode) ? pinnedNode : own());
