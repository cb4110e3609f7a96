// The door of every npm script: `node build/run.mjs FILE.ts [args]`.
//
// Plain JavaScript without dependencies, because on a fresh checkout nothing else can run yet: it
// needs Node 20 and npm. It installs the locked packages when they are missing or outdated, then
// runs FILE.ts with the pinned Node, which npm delivers as a platform package. A shell line `setup
// && node FILE.ts` would not do: the shell remembers where it found `node` the first time and would
// go on with the machine's older one.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, "node_modules", ".installed-from");
const pinnedNode = join(
  root,
  "node_modules",
  `node-${process.platform}-${process.arch}`,
  "bin",
  "node",
);

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (Number(process.versions.node.split(".")[0]) < 20)
  fail(`Node ${process.versions.node}: install Node 20 or newer`);

const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
if (installed !== wanted) {
  process.stderr.write("installing the locked packages (npm ci)\n");
  const ci = spawnSync("npm", ["ci", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (ci.status !== 0) fail("npm ci failed: see the lines above");
  if (!existsSync(pinnedNode))
    fail(`no pinned Node for ${process.platform}-${process.arch}: use Linux on x64 or arm64`);
  writeFileSync(stamp, wanted);
}

const child = spawn(pinnedNode, process.argv.slice(2), {
  cwd: root,
  stdio: "inherit",
  // The pinned Node first, so that programs started from here find it by name.
  env: { ...process.env, PATH: `${dirname(pinnedNode)}:${process.env.PATH}` },
});
// Ctrl-C reaches the child by itself (same process group): wait for its clean-up. Other signals are
// passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
