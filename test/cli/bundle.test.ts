/** The bundle that users install, run from its one file. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bundle = fileURLToPath(new URL("../../dist/kubectl-pull_secret.cjs", import.meta.url));
const [original, additional] = [
  '{"auths":{"a.io":{"auth":"dTpw"}},"credHelpers":{}}',
  '{"auths":{"a.io/x":{"auth":"eDp5"}}}',
];

test("the kubectl plugin needs nothing but its one file", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "plugin-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const plugin = join(folder, "kubectl-pull_secret.cjs");
  copyFileSync(bundle, plugin);
  const run = (argv: readonly string[], input: string) =>
    spawnSync(process.execPath, [plugin, ...argv], { cwd: folder, input, encoding: "utf8" });

  const checked = run(["check", "-"], original);
  assert.match(checked.stderr, /^additional: credHelpers: taken out; /);
  assert.deepEqual([checked.status, checked.stdout], [0, "accepted: 1 registry\n"]);

  const merged = run(["merge", "--additional", "-"], additional);
  assert.deepEqual([merged.status, merged.stdout, merged.stderr], [0, `${additional}\n`, ""]);

  const explained = run(["explain", "a.io/x/y:1", "--file", "-", "-o", "json"], additional);
  assert.deepEqual(JSON.parse(explained.stdout), {
    image: "a.io/x/y:1",
    tries: [{ registry: "a.io/x", username: "x" }],
    ignored: [],
  });

  const refused = run(["check", "-"], "{}");
  assert.deepEqual([refused.status, refused.stdout], [1, ""]);
  assert.equal(run(["check"], "").status, 2);
});
