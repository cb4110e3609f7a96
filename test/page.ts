/** A page of docs/, as readers follow it: files to write, commands to run, and their output. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { load } from "js-yaml";
import { directEnvironment } from "./cluster/run.ts";
import type { Cluster } from "./cluster/cluster.ts";

const root = join(import.meta.dirname, "..");
const plugin = join(root, "dist/kubectl-pull_secret.cjs");

export type Block = Readonly<{ kind: string; body: string; printed: string | undefined }>;

function blocksIn(text: string): readonly Block[] {
  const all = Array.from(text.matchAll(/^```(\w+)\n(.*?)^```/gms), ([, kind = "", body = ""]) => ({
    kind,
    body,
  }));
  return all.flatMap((block, at) => {
    const next = all[at + 1];
    return block.kind === "text"
      ? []
      : [{ ...block, printed: next?.kind === "text" ? next.body : undefined }];
  });
}

/** Reads the page in this file of docs/. */
export function pageOf(file: string) {
  const text = readFileSync(join(root, "docs", file), "utf8");
  return {
    /** The fenced blocks of the page. The `text` block after a block is its output. */
    blocks: (): readonly Block[] => blocksIn(text),
    /** The fenced blocks below a heading. */
    blocksBelow: (heading: string): readonly Block[] => {
      const [, below = ""] = `\n${text}`.split(`\n${heading}\n`);
      const blocks = blocksIn(below.split(/\n#{2,3} /)[0] ?? "");
      assert.ok(blocks.length > 0, `no block below ${heading}`);
      return blocks;
    },
    /** The value of the YAML block whose first line is a comment with this file name. */
    yamlOf: (name: string): unknown => {
      const blocks = Array.from(text.matchAll(/^```yaml\n(.*?)^```/gms), ([, body = ""]) => body);
      return load(blocks.find((body) => body.startsWith(`# ${name}`)) ?? assert.fail(name));
    },
  };
}

/** Replaces UIDs, times, ages and revisions, which differ from run to run. */
const plain = (printed: string): string =>
  printed
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b\d+(?:s|m\d+s)$/gm, "AGE")
    .replaceAll(revisions, "REVISION")
    .trim();

/** Revisions are seconds since 1970. */
const revisions = /\b1\d{9}\b/g;

/** Removes widths of columns, ages and revisions, which differ from run to run. */
const shapeOf = (line: string): string =>
  line
    .trim()
    .replaceAll(/\s+/g, " ")
    .replaceAll(revisions, "REVISION")
    .replace(/(?: \d+[smhd])(?:\d+[smh])?$/, " AGE");

/**
 * The first line of the page's output that is missing in the real output; undefined if no line is
 * missing. Lines must have the same order. On the page, `…` replaces omitted lines or parts of a
 * line.
 */
export function missingLine(shown: string, printed: string): string | undefined {
  const printedLines = printed.split("\n").map(shapeOf);
  for (const line of shown.split("\n").map(shapeOf)) {
    if (line === "" || line === "…") continue;
    const [begin = "", end] = line.split("…");
    const fits = (candidate: string): boolean =>
      end === undefined
        ? candidate === line
        : candidate.startsWith(begin) && candidate.endsWith(end);
    const at = printedLines.findIndex(fits);
    if (at < 0) return line;
    printedLines.splice(0, at + 1);
  }
  return undefined;
}

export type Desk = Readonly<{
  folder: string;
  /**
   * Runs a block of commands unchanged. Returns stdout and stderr together. Fails if a command
   * fails.
   */
  run: (body: string) => Promise<string>;
}>;

/**
 * Follows a part of a page: writes the files, runs the commands, and compares their output with the
 * page. `edited` makes the edits that the page requests. Returns the whole output.
 */
export async function follow(
  desk: Desk,
  blocks: readonly Block[],
  edited: (file: string) => string = (file) => file,
): Promise<string> {
  let reported = "";
  for (const { kind, body, printed } of blocks) {
    if (kind === "yaml") {
      const [, name = assert.fail(body)] = /^# ([\w.-]+)/.exec(body) ?? [];
      writeFileSync(join(desk.folder, name), edited(body));
      continue;
    }
    const its = await desk.run(body);
    if (printed !== undefined) assert.equal(plain(its), plain(printed));
    reported += its;
  }
  return reported;
}

type Surroundings = Readonly<{
  /** Context → its cluster. The first context is the current one. */
  contexts: Readonly<Record<string, Cluster>>;
  env?: Readonly<Record<string, string>>;
  /** Other programs that the page calls besides kubectl and the plugin: name → file. */
  programs?: Readonly<Record<string, string>>;
  /**
   * Returns the output of `kubectl logs` for programs that run in no pod. If absent, the real
   * kubectl runs.
   */
  logs?: () => string;
}>;

/** Makes a folder with all that the page expects: contexts, the manifests, the plugin. */
export function deskAt(
  folder: string,
  { contexts, env = {}, programs = {}, logs }: Surroundings,
): Desk {
  mkdirSync(join(folder, "bin"), { recursive: true });
  symlinkSync(join(root, "manifests"), join(folder, "manifests"));
  const entries = Object.entries(contexts).map(([name, { kubeconfig }]) => {
    const file = JSON.stringify(load(readFileSync(kubeconfig, "utf8")));
    const { clusters, users } = JSON.parse(file) as Record<
      "clusters" | "users",
      { cluster?: object; user?: object }[]
    >;
    return { name, cluster: clusters[0]?.cluster, user: users[0]?.user };
  });
  const [[current, { kit }] = assert.fail("no context")] = Object.entries(contexts);
  const merged = {
    apiVersion: "v1",
    kind: "Config",
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": current,
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(merged));
  const program = (name: string, script: string) => {
    const file = join(folder, "bin", name);
    writeFileSync(file, `#!/bin/bash\n${script}\n`);
    chmodSync(file, 0o755);
  };
  const kubectl = kit.parts.path("kubectl");
  const faked = logs === undefined ? "" : `[ "$3" = logs ] && exec cat ${folder}/logs\n`;
  program("kubectl", `${faked}exec ${kubectl} "$@"`);
  program("kubectl-pull_secret", `exec ${process.execPath} ${plugin} "$@"`);
  for (const [name, file] of Object.entries(programs)) program(name, `exec ${file} "$@"`);
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]];
  const around = {
    ...directEnvironment(),
    ...env,
    PATH: path.join(delimiter),
    KUBECONFIG: join(folder, "kubeconfig"),
  };
  return {
    folder,
    async run(body) {
      if (logs !== undefined) writeFileSync(join(folder, "logs"), logs());
      return await shell(body, folder, around);
    },
  };
}

/**
 * Runs a block of commands in a folder. `inside` is the command line that runs bash elsewhere.
 * Returns stdout and stderr together. Fails if a command fails.
 */
export async function shell(
  body: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  inside: (argv: readonly string[]) => readonly string[] = (argv) => argv,
): Promise<string> {
  const script = `cd ${folder}\n${body}`;
  const [program = "", ...args] = inside(["bash", "--norc", "-euo", "pipefail", "-c", script]);
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let reported = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (reported += chunk));
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, `${body}\n${reported}`);
  return reported;
}
