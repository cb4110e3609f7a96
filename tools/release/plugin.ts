/** The plugin's archive, and the manifest by which krew installs it. */
import { chmodSync, copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { dump } from "js-yaml";
import { gzip, sha256, tar } from "./archive.ts";

/** kubectl finds a program of this name as `kubectl pull-secret`. */
const program = "kubectl-pull_secret";

/** Files beside the program: our licence, and the licences of its packages. */
const licences = ["LICENSE", "LICENSES.txt"];

/** Writes the archive: the bundle as a program, and the licences. */
export async function packPlugin(
  repository: string,
  archive: string,
  created: number,
): Promise<void> {
  const staged = `${archive}.staged`;
  mkdirSync(staged, { recursive: true });
  copyFileSync(join(repository, `dist/${program}.cjs`), join(staged, program));
  chmodSync(join(staged, program), 0o755);
  copyFileSync(join(repository, "LICENSE"), join(staged, "LICENSE"));
  copyFileSync(join(repository, "dist/LICENSES.txt"), join(staged, "LICENSES.txt"));
  const plain = `${archive}.tar`;
  await tar(plain, staged, [program, ...licences], created);
  gzip(plain, archive);
  for (const path of [staged, plain]) rmSync(path, { recursive: true });
}

/**
 * krew's manifest. `uri`: the address of the archive. Windows is not supported: it does not start a
 * program by its first line.
 */
export function krewManifest(version: string, archive: string, uri: string): string {
  const selector = {
    matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }],
  };
  const files = [program, ...licences].map((from) => ({ from, to: "." }));
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
        "It runs with the Node.js on your PATH: version 24 or newer, or 20 for commands on",
        "files alone.\n",
      ].join("\n"),
      platforms: [{ selector, uri, sha256: sha256(archive), bin: program, files }],
    },
  });
}
