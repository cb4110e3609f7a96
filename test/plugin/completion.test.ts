/** The plugin's completion with a real kubectl. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { folder } from "#plugin/cases.fixture.ts";
import { run } from "../cluster/run.ts";
import { setUp } from "../cluster/setup.ts";

const bin = join(folder, "bin");
/** The first line of the bundle finds Node on this PATH. */
const path = [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter);
const kubectl = (...argv: string[]) =>
  run(["kubectl", ...argv], {
    cwd: folder,
    env: { ...(process.env as Record<string, string>), PATH: path },
  });

before(async () => {
  const { parts } = await setUp();
  mkdirSync(bin);
  const bundle = fileURLToPath(new URL("../../dist/kubectl-pull_secret.cjs", import.meta.url));
  const plugin = join(bin, "kubectl-pull_secret");
  copyFileSync(bundle, plugin);
  chmodSync(plugin, 0o755);
  symlinkSync(parts.path("kubectl"), join(bin, "kubectl"));
  const executable = join(bin, "kubectl_complete-pull_secret");
  writeFileSync(executable, await kubectl("pull-secret", "completion"));
  chmodSync(executable, 0o755);
});

for (const [words, offered] of [
  [["wait", "--ti"], /^--timeout\thow long to wait; .*\n:4\n$/],
  [["status", "-o", ""], /^text\njson\nyaml\n:4\n$/],
  [["check", "-f", ""], /^:0\n$/],
] as const)
  test(`kubectl's own completion completes \`${words.join(" ")}\``, async () => {
    assert.match(await kubectl("__complete", "pull-secret", ...words), offered);
  });
