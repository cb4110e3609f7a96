/** The plugin's archives, and the manifest from which krew installs them. */
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dump } from "js-yaml";
import { gzip, sha256, tar } from "./archive.ts";

/** kubectl runs a program of this name as `kubectl pull-secret`. */
const program = "kubectl-pull_secret";

/** The archive also contains our licence, and the licences of the bundled packages. */
const licences = ["LICENSE", "LICENSES.txt"];

/** Starts the bundle with the Node of the archive, even if the machine has another Node. */
const packedLauncher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/${program}.cjs" "$@"
`;

const withNode = [program, `${program}.cjs`, "node", ...licences, "LICENSE.node"];

/**
 * Writes the archive: the bundle as a program, and the licences. `node` is a folder with `bin/node`
 * and `LICENSE`. With `node`, the archive contains this Node, and the program is a launcher.
 */
export async function packPlugin(
  repository: string,
  archive: string,
  created: number,
  node?: string,
): Promise<void> {
  const staged = `${archive}.staged`;
  mkdirSync(staged, { recursive: true });
  const put = (from: string, name: string, mode = 0o644) => {
    copyFileSync(from, join(staged, name));
    chmodSync(join(staged, name), mode);
  };
  put(join(repository, "LICENSE"), "LICENSE");
  put(join(repository, "dist/LICENSES.txt"), "LICENSES.txt");
  const bundle = join(repository, `dist/${program}.cjs`);
  if (node === undefined) put(bundle, program, 0o755);
  else {
    put(bundle, `${program}.cjs`);
    put(join(node, "bin/node"), "node", 0o755);
    put(join(node, "LICENSE"), "LICENSE.node");
    writeFileSync(join(staged, program), packedLauncher, { mode: 0o755 });
  }
  const plain = `${archive}.tar`;
  await tar(plain, staged, node === undefined ? [program, ...licences] : withNode, created);
  gzip(plain, archive);
  for (const path of [staged, plain]) rmSync(path, { recursive: true });
}

/** An archive for krew. Without `arch`, the archive is for every machine that has its own Node. */
export type Packed = Readonly<{ arch?: string; archive: string; uri: string }>;

/**
 * krew's manifest. Linux gets the archives with a Node. macOS gets the archive without a Node,
 * because npm has no Node for macOS. Windows gets no archive, because it ignores a program's first
 * line, which names Node.
 */
export function krewManifest(version: string, archives: readonly Packed[]): string {
  const platforms = archives.map(({ arch, archive, uri }) => {
    const labels = arch === undefined ? { os: "darwin" } : { os: "linux", arch };
    const names = arch === undefined ? [program, ...licences] : withNode;
    const files = names.map((from) => ({ from, to: "." }));
    const selector = { matchLabels: labels };
    return { selector, uri, sha256: sha256(archive), bin: program, files };
  });
  return dump({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "pull-secret" },
    spec: {
      version: `v${version}`,
      shortDescription: "One registry credential for every node",
      description: [
        "Adds, removes, checks and explains the registry credentials that Global Pull",
        "Secret brings to every node, and shows which nodes have them. Commands on files",
        "need no cluster.\n",
      ].join("\n"),
      caveats: [
        "On Linux it brings its own Node.js. On macOS it runs with the Node.js on your PATH:",
        "version 22.19 or newer.\n",
      ].join("\n"),
      platforms,
    },
  });
}
