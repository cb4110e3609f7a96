/** Runs the bundle that users install (a single file) with the versions of Node that users have. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "#plugin/terminal/version.ts";
import { east } from "#plugin/seal/seal.fixture.ts";
import { file, folder, run, testCases, testRefusals } from "#plugin/cases.fixture.ts";

const [bundle, likeNode20, likeNode22] = [
  "../../dist/kubectl-pull_secret.cjs",
  "like-node-20.cjs",
  "like-node-22.cjs",
].map((path) => fileURLToPath(new URL(path, import.meta.url))) as [string, string, string];
const plugin = join(folder, "kubectl-pull_secret.cjs");
copyFileSync(bundle, plugin);

/**
 * The machine's Node, not the pinned Node, which npm and our set-up put first on the PATH. If the
 * machine's Node is newer than 20, like-node-20.cjs simulates Node 20.
 */
const own =
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((place) => !place.includes("node_modules"))
    .map((place) => join(place, "node"))
    .find((path) => existsSync(path)) ?? process.execPath;
testCases([own, plugin], ", with the machine's own Node");
testCases([process.execPath, "--require", likeNode20, plugin], ", with the features of Node 20");
testRefusals([process.execPath, plugin], ", of the bundle");

test("npm run build makes the plugin and its launcher executable", async () => {
  const launcher = bundle.replace(/\.cjs$/, "");
  for (const path of [launcher, bundle]) assert.equal(statSync(path).mode & 0o777, 0o755, path);
  const { out } = await run([launcher, "version"]);
  assert.equal(out, `${version} (Node ${process.versions.node})\n`);
});

for (const [version, hook, names] of [
  [20, likeNode20, "Map.groupBy, [].values().map, new Set().union, globalThis.Iterator"],
  [22, likeNode22, "Promise.try, RegExp.escape, Error.isError, globalThis.URLPattern"],
] as const)
  test(`like-node-${version}.cjs removes the features that Node ${version} lacks`, async () => {
    const source = `console.log([${names}].map((one) => typeof one).join(" "))`;
    const { out, err } = await run([process.execPath, "--require", hook, "--eval", source]);
    assert.deepEqual([out, err], [`${"undefined ".repeat(4).trim()}\n`, ""]);
  });

for (const node of [[own], [process.execPath, "--require", likeNode20]])
  test(`reaches a cluster if Node has zstd, otherwise asks for a newer Node in one line: ${node.length === 1 ? "the machine's own" : "like 20"}`, async () => {
    const { code, err } = await run([...node, plugin, "status", "--kubeconfig", "nowhere.yaml"]);
    const { out } = await run([...node, "-p", "'createZstdDecompress' in require('node:zlib')"]);
    assert.equal(code, 2, err);
    const tooOld = /^Node\.js \S+ is too old .*; install Node\.js 22\.19 or newer .*\n$/;
    assert.match(err, out === "true\n" ? /^nowhere\.yaml: / : tooOld);
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

test("runs SUPPORT.md's commands for Node 20 with only the features of Node 20", async () => {
  const [, row = ""] =
    /^\| 20 or newer +\| (.*) \|$/m.exec(readFileSync("SUPPORT.md", "utf8")) ?? [];
  file("pull.json", '{"auths":{"a.io":{"auth":"dTpw"}}}');
  file("east.pem", east);
  const lines = [
    "check pull.json",
    "merge --additional pull.json --output-file merged-for-20.json",
    "explain a.io/x --file pull.json",
    "seal -f pull.json --cert east=east.pem -o sealed-for-20",
    "fleet rbac --target kube-system/pull-secret",
    "fleet tenant tenant-a",
    "completion bash",
    "version",
  ];
  const names = Array.from(row.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
  assert.deepEqual(
    lines.map((line) => names.find((name) => `${line} `.startsWith(`${name} `))),
    names,
  );
  for (const node of [[own], [process.execPath, "--require", likeNode20]])
    for (const line of lines) {
      const { code, err } = await run([...node, plugin, ...line.split(" ")]);
      assert.deepEqual([code, err], [0, line.startsWith("seal") ? err : ""], line);
    }
});

test("starts the plugin on Node 20 or newer", async () => {
  const { out } = await run([own, "--version"]);
  assert.ok(Number(/^v(\d+)\./.exec(out)?.[1]) >= 20, out);
});
