/** Runs the bundle that users install (a single file) with the versions of Node that users have. */
import assert from "node:assert/strict";
import { copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "#plugin/terminal/version.ts";
import { file, folder, run, testCases, testRefusals } from "#plugin/cases.fixture.ts";

const [bundle, likeNode22] = ["../../dist/kubectl-pull_secret.cjs", "like-node-22.cjs"].map(
  (path) => fileURLToPath(new URL(path, import.meta.url)),
) as [string, string];
const plugin = join(folder, "kubectl-pull_secret.cjs");
copyFileSync(bundle, plugin);

testCases([process.execPath, "--require", likeNode22, plugin], ", with the features of Node 22");
testRefusals([process.execPath, plugin], ", of the bundle");

test("npm run build makes the plugin and its launcher executable", async () => {
  const launcher = bundle.replace(/\.cjs$/, "");
  for (const path of [launcher, bundle]) assert.equal(statSync(path).mode & 0o777, 0o755, path);
  const { out } = await run([launcher, "version"]);
  assert.equal(out, `${version} (Node ${process.versions.node})\n`);
});

test("like-node-22.cjs removes the features that Node 22 lacks", async () => {
  const names = "Promise.try, RegExp.escape, Error.isError, globalThis.URLPattern";
  const source = `console.log([${names}].map((feature) => typeof feature).join(" "))`;
  const { out, err } = await run([process.execPath, "--require", likeNode22, "--eval", source]);
  assert.deepEqual([out, err], [`${"undefined ".repeat(4).trim()}\n`, ""]);
});

test("refuses a Node without zstd in one line, before a command runs", async () => {
  const old = file("old.cjs", 'delete require("node:zlib").createZstdDecompress;');
  const { code, out, err } = await run([process.execPath, "--require", `./${old}`, plugin]);
  assert.deepEqual([code, out], [2, ""]);
  assert.match(err, /^Node\.js \S+ is too old\. Install Node\.js 22\.19 or newer .*\n$/);
});

test("sends a request to a cluster if Node has only the features of Node 22", async () => {
  const nowhere = file(
    "nowhere-22.yaml",
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "a", user: { token: "t" } }],
    }),
  );
  const argv = ["status", "--kubeconfig", nowhere];
  const { code, err } = await run([process.execPath, "--require", likeNode22, plugin, ...argv]);
  assert.equal(code, 1, err);
  assert.match(err, /ECONNREFUSED|no answer/);
});
