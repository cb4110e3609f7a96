/**
 * The first container of an agent's pod. It looks once for other files that the kubelet may take
 * credentials from, and that config.json would hide, and writes down their paths, never contents.
 * Its last words say whether the node could have mode CredentialProvider. It always exits 0,
 * because the pod waits for it; the agent reports what it could not see.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { credentialFiles, mountPaths, nodeFiles, podFiles } from "#contract/names.ts";
import { contentOf } from "./observe/candidates.ts";
import { keepMemoryOutOfCores } from "#program/cores.ts";
import { prospectOf } from "./observe/prospect.ts";
import { legacyName, type Sight } from "./facts/search.ts";

/** What is said of a node is kept by the API server as long as its pod. */
const mostWords = 256;

function search(root: string, kubeletDirectory: string): Sight {
  if (existsSync(join(root, kubeletDirectory, nodeFiles.journal))) return { kind: "ours" };
  const files = credentialFiles.map(
    (path) => [path, contentOf(join(root, path), path.endsWith(legacyName))] as const,
  );
  return { kind: "seen", files: Object.fromEntries(files) };
}

try {
  keepMemoryOutOfCores();
  const { values } = parseArgs({
    options: {
      root: { type: "string", default: mountPaths.root },
      "kubelet-directory": { type: "string", default: "/var/lib/kubelet" },
      "pod-directory": { type: "string", default: mountPaths.pod },
      "termination-log": { type: "string", default: mountPaths.terminationLog },
    },
  });
  const prospect = prospectOf(values.root, values["kubelet-directory"]);
  writeFileSync(values["termination-log"], prospect.slice(0, mostWords));
  const sight = search(values.root, values["kubelet-directory"]);
  writeFileSync(join(values["pod-directory"], podFiles.hidden), JSON.stringify(sight));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
process.exit(0);
