import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as zlib from "node:zlib";
import { Misuse } from "./io.ts";
import { requireClusterSupport } from "./node.ts";

test("for commands on a cluster, accepts every version of Node.js that has zstd", () => {
  assert.doesNotThrow(() => requireClusterSupport());
  assert.doesNotThrow(() => requireClusterSupport({ createZstdDecompress: zlib.createGunzip }));
  assert.throws(() => requireClusterSupport({ createGunzip: zlib.createGunzip }), Misuse);
});

test("refuses Node.js 18 in one line, before a command runs", () => {
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const versions = `{ ...process.versions, node: "18.20.8" }`;
  const old = `Object.defineProperty(process, "versions", { value: ${versions} });`;
  const argv = ["--import", `data:text/javascript,${encodeURIComponent(old)}`, main, "version"];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  const asked = "Node.js 18.20.8 is too old. Install Node.js 20 or newer (nodejs.org).\n";
  assert.deepEqual([status, stdout, stderr], [2, "", asked]);
});
