import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("refuses a Node.js without zstd in one line, before a command runs", () => {
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const old =
    'import zlib from "node:zlib"; import { syncBuiltinESMExports } from "node:module"; ' +
    "delete zlib.createZstdDecompress; syncBuiltinESMExports();";
  const argv = ["--import", `data:text/javascript,${encodeURIComponent(old)}`, main, "version"];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  const { node } = process.versions;
  const asked = `Node.js ${node} is too old. Install Node.js 22.19 or newer (nodejs.org).\n`;
  assert.deepEqual([status, stdout, stderr], [2, "", asked]);
});
