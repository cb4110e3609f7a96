/** Runs the demos as a new user does. The demos' claims are the assertions. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../cluster/run.ts";
import { lines } from "./script.ts";

const program = fileURLToPath(new URL("main.ts", import.meta.url));

test("prints the demo's whole script, and every claim is true", async () => {
  // Reads stdout and stderr as one stream, in the order in which a terminal shows them.
  const shell = ["bash", "-c", 'exec "$0" "$1" --cluster 2>&1'];
  const reported = await run([...shell, process.execPath, program]);
  assert.match(reported, /^This takes about \d+ minutes /);
  assert.match(reported, /^Every claim was checked and holds\.$/m);
  const [files, cluster] = [reported.indexOf(lines.files.text), reported.search(/^\[ *\d+ s\] /m)];
  assert.ok(files > 0 && (cluster < 0 || files < cluster), reported.slice(0, 2000));
});

test("shows two scripted clusters of a fleet with --fleet, and every claim is true", async () => {
  const reported = await run([process.execPath, program, "--fleet"]);
  assert.match(reported, /^Every claim was checked and holds\.$/m);
});

for (const flags of [
  ["--fleet", "--write"],
  ["--fleet", "--cluster"],
  ["--write", "--keep"],
])
  test(`refuses ${flags.join(" with ")} in one line before the usage`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...flags], {
      encoding: "utf8",
    });
    const [line] = stderr.split("\n");
    assert.deepEqual([status, stdout, line], [2, "", `${flags.join(" and ")} do not go together`]);
  });
