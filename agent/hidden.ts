/**
 * The first container of an agent's pod. It searches once for credential files that a new
 * config.json would hide from the kubelet, and records their paths, never their contents. It always
 * exits 0, because the agent starts only after this container has succeeded. The agent later
 * reports the files that this container could not read.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asksForHelp } from "#contract/arguments.ts";
import { readFlags } from "#contract/flags.ts";
import { credentialFiles, nodeFiles, podFiles, mountPaths } from "#contract/names.ts";
import { usage } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { contentOf } from "./observe/hidden-files.ts";
import { keepMemoryOutOfCores } from "#runtime/cores.ts";
import { legacyName, type SearchResult } from "./facts/search.ts";
import { directory } from "#contract/values.ts";

/** The controller sets these flags, like the agent's flags. */
const flags = {
  root: { read: directory, standard: mountPaths.root, what: "where the node's root is mounted" },
  "kubelet-directory": {
    read: directory,
    standard: "/var/lib/kubelet",
    what: "the kubelet's root directory on the node",
  },
  "pod-directory": {
    read: directory,
    standard: mountPaths.pod,
    what: "the pod's own directory, which the agent reads next",
  },
};

function search(root: string, kubeletDirectory: string): SearchResult {
  if (existsSync(join(root, kubeletDirectory, nodeFiles.journal))) return { kind: "ours" };
  const files = credentialFiles.map(
    (path) => [path, contentOf(join(root, path), path.endsWith(legacyName))] as const,
  );
  return { kind: "seen", files: Object.fromEntries(files) };
}

function report(argv: readonly string[]): void {
  const read = readFlags(flags, { argv, quote });
  if (!read.ok) throw new Error(read.errors.join("\n"));
  const { root, "kubelet-directory": kubeletDirectory, "pod-directory": podDirectory } = read.value;
  const sight = search(root, kubeletDirectory);
  writeFileSync(join(podDirectory, podFiles.hidden), JSON.stringify(sight));
}

try {
  keepMemoryOutOfCores();
  const argv = process.argv.slice(2);
  if (asksForHelp(argv)) process.stdout.write(usage(flags));
  else report(argv);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
process.exit(0);
