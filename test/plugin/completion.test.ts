/** The plugin's completion in real shells, and with a real kubectl. */
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
const shell = (...argv: string[]) =>
  run(argv, { cwd: folder, env: { ...(process.env as Record<string, string>), PATH: path } });

before(async () => {
  const { parts } = await setUp();
  mkdirSync(bin);
  const bundle = fileURLToPath(new URL("../../dist/kubectl-pull_secret.cjs", import.meta.url));
  const plugin = join(bin, "kubectl-pull_secret");
  copyFileSync(bundle, plugin);
  chmodSync(plugin, 0o755);
  symlinkSync(parts.path("kubectl"), join(bin, "kubectl"));
  writeFileSync(join(folder, "a-file.json"), "{}");
});

type Complete = (line: readonly string[]) => Promise<string[]>;

const sorted = (text: string): string[] => text.split("\n").filter(Boolean).toSorted();

const bash: Complete = async (line) => {
  const words = line.map((word) => `'${word}'`).join(" ");
  const script = `source <(kubectl pull-secret completion bash)
    COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    compopt() { compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"; }
    __kubectl_pull_secret; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return sorted(await shell("bash", "--norc", "-c", script));
};

const zsh: Complete = async (line) => {
  const words = line.map((word) => `'${word}'`).join(" ");
  const script = `compdef() { : }
    _describe() { print -l -- \${\${(P)2}%%:*} }
    _files() { print -l -- \${words[CURRENT]}*(N) }
    source <(kubectl pull-secret completion zsh)
    words=(${words}); CURRENT=$#words; __kubectl_pull_secret`;
  return sorted(await shell("zsh", "-f", "-c", script));
};

const fish: Complete = async (line) => {
  const script = `kubectl pull-secret completion fish | source; complete -C '${line.join(" ")}'`;
  const reported = await shell("fish", "--no-config", "-c", script);
  return sorted(reported.replace(/\t.*/g, ""));
};

const cases: readonly (readonly [line: readonly string[], offered: readonly string[]])[] = [
  [["kubectl", "pull-secret", "wa"], ["wait"]],
  [["kubectl", "pull-secret", "wait", "--timeout", "5m", "--so"], ["--source"]],
  [
    ["kubectl", "pull-secret", "status", "-o", ""],
    ["json", "text", "yaml"],
  ],
  [["kubectl", "pull-secret", "check", "-f", "a-f"], ["a-file.json"]],
  [["kubectl", "pull-secret", "pause", "x"], []],
];
for (const [name, complete] of Object.entries({ bash, zsh, fish }))
  for (const [line, offered] of cases)
    test(`${name} offers ${offered.join(", ") || "nothing"} after \`${line.join(" ")}\``, async () => {
      assert.deepEqual(await complete(line), offered);
    });

test("also completes commands that begin with kubectl-pull_secret", async () => {
  assert.deepEqual(await bash(["kubectl-pull_secret", "wa"]), ["wait"]);
  assert.deepEqual(await zsh(["kubectl-pull_secret", "wa"]), ["wait"]);
});

test("leaves other kubectl commands to kubectl's own completion", async () => {
  const script = `__start_kubectl() { COMPREPLY=(its own); }
    source <(kubectl pull-secret completion bash)
    COMP_WORDS=(kubectl get po); COMP_CWORD=2; __kubectl_pull_secret; echo "\${COMPREPLY[@]}"`;
  assert.equal(await shell("bash", "--norc", "-c", script), "its own\n");
});

test("kubectl's own completion calls kubectl_complete-pull_secret", async () => {
  const executable = join(bin, "kubectl_complete-pull_secret");
  writeFileSync(executable, await shell("kubectl", "pull-secret", "completion", "kubectl"));
  chmodSync(executable, 0o755);
  const reported = await shell("kubectl", "__complete", "pull-secret", "wait", "--ti");
  assert.match(reported, /^--timeout\thow long to wait; .*\n:4\n$/);
});
