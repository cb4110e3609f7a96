/** The first part of the demo: the plugin and some files. It needs no cluster and no root. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { directEnvironment, run } from "../cluster/run.ts";
import type { Narrator } from "./narrator.ts";

/** The plugin as `npm run build` makes it. */
const plugin = join(import.meta.dirname, "../../dist/kubectl-pull_secret.cjs");

/** Runs the plugin on a cluster, and prints its output. Throws if the plugin fails. */
export async function showPlugin(
  { kubeconfig }: Readonly<{ kubeconfig: string }>,
  narrator: Narrator,
  ...command: readonly string[]
): Promise<void> {
  narrator.writeLine(`$ kubectl pull-secret ${command.join(" ")}`);
  const argv = [process.execPath, plugin, ...command, "--kubeconfig", kubeconfig];
  narrator.writeLine(await run(argv, { env: directEnvironment() }));
}

const auth = (text: string): { auth: string } => ({ auth: Buffer.from(text).toString("base64") });
const files = {
  "bad.json": { "registry.example": { auth: "user:pa55" } },
  "original.json": { "elsewhere.example": auth("a:secret"), "registry.example": auth("b:secret") },
  "additional.json": { "registry.example/team": auth("c:secret") },
};

/** Runs this part in a few seconds. Throws ClaimFailed at the first claim that does not hold. */
export function showOffline(narrator: Narrator): void {
  const directory = mkdtempSync(join(tmpdir(), "demo-"));
  const ask = (...args: readonly string[]): string => {
    narrator.writeLine(`$ kubectl pull-secret ${args.join(" ")}`);
    const options = { cwd: directory, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync(process.execPath, [plugin, ...args], options);
    narrator.writeLine(`${stdout}${stderr}`);
    return stdout || stderr;
  };
  const write = (name: string, text: string): void => writeFileSync(join(directory, name), text);
  try {
    for (const [name, auths] of Object.entries(files)) write(name, JSON.stringify({ auths }));
    narrator.step("files");
    const refusal = ask("check", "bad.json");
    narrator.claim(
      "keyPath",
      refusal.includes('auths["registry.example"].auth') && !refusal.includes("pa55"),
      { seen: refusal },
    );
    const merged = ask(
      "merge",
      "--show-credentials",
      "--original",
      "original.json",
      "--additional",
      "additional.json",
    );
    write("merged.json", merged);
    const order = ask("explain", "registry.example/team/app:1", "--file", "merged.json");
    narrator.claim(
      "explained",
      /1 +registry\.example\/team +c\n.*2 +registry\.example +b$/m.test(order),
      {
        seen: order,
      },
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}
