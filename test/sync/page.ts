/** docs/syncsecret.md, as its reader has it: files to write, commands to run, what they print. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { load } from "js-yaml";
import { directEnvironment } from "../cluster/run.ts";
import type { Rig } from "./rig.ts";
import { plugin } from "./sync.ts";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/syncsecret.md"), "utf8");

export type Block = Readonly<{ kind: string; body: string; printed: string | undefined }>;

/** The fenced blocks below a heading; what a block prints is the `text` block after it. */
export function blocksBelow(heading: string): readonly Block[] {
  const [, below = ""] = text.split(`\n${heading}\n`);
  const part = below.split(/\n#{2,3} /)[0] ?? "";
  const all = Array.from(part.matchAll(/^```(\w+)\n(.*?)^```/gms), ([, kind = "", body = ""]) => ({
    kind,
    body,
  }));
  assert.ok(all.length > 0, `no block below ${heading}`);
  return all.flatMap((one, at) => {
    const next = all[at + 1];
    return one.kind === "text"
      ? []
      : [{ ...one, printed: next?.kind === "text" ? next.body : undefined }];
  });
}

/** The value of the YAML block that begins with a comment on this file. */
export function yamlOf(file: string): unknown {
  const blocks = Array.from(text.matchAll(/^```yaml\n(.*?)^```/gms), ([, body = ""]) => body);
  return load(blocks.find((body) => body.startsWith(`# ${file}`)) ?? assert.fail(file));
}

/** UIDs and ages differ from run to run. */
export const plain = (printed: string): string =>
  printed
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/\b\d+(?:s|m\d+s)$/gm, "AGE")
    .trim();

export type Desk = Readonly<{
  folder: string;
  /** Runs a block as it stands; its output of both kinds. Fails where a command does. */
  run: (body: string) => Promise<string>;
}>;

/**
 * A folder with what the page takes for granted: both contexts, the manifests, the plugin. The
 * programs of these tests are in no pod, so `kubectl logs` of their Deployments is faked: it prints
 * what they wrote.
 */
export function deskOf({ tenant, management, output }: Rig, folder: string): Desk {
  mkdirSync(join(folder, "bin"), { recursive: true });
  symlinkSync(join(root, "manifests"), join(folder, "manifests"));
  const contexts = { tenant, management };
  const entries = Object.entries(contexts).map(([name, { cluster }]) => {
    const file = JSON.stringify(load(readFileSync(cluster.kubeconfig, "utf8")));
    const { clusters, users } = JSON.parse(file) as Record<
      "clusters" | "users",
      { cluster?: object; user?: object }[]
    >;
    return { name, cluster: clusters[0]?.cluster, user: users[0]?.user };
  });
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": "management",
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  const program = (name: string, script: string) => {
    const file = join(folder, "bin", name);
    writeFileSync(file, `#!/bin/bash\n${script}\n`);
    chmodSync(file, 0o755);
  };
  const kubectl = tenant.cluster.kit.parts.path("kubectl");
  program("kubectl", `[ "$3" = logs ] && exec cat ${folder}/logs\nexec ${kubectl} "$@"`);
  program("kubectl-pull_secret", `exec ${process.execPath} ${plugin} "$@"`);
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]];
  const env = {
    ...directEnvironment(),
    PATH: path.join(delimiter),
    KUBECONFIG: join(folder, "kubeconfig"),
  };
  return {
    folder,
    async run(body) {
      writeFileSync(join(folder, "logs"), output());
      const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", body], {
        cwd: folder,
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let told = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (told += chunk.toString()));
      const [code] = (await once(child, "close")) as [number];
      assert.equal(code, 0, `${body}\n${told}`);
      return told;
    },
  };
}
