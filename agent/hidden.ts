/**
 * The first container of an agent's pod: looks once where else the kubelet may find credentials,
 * which config.json would hide, and writes down what lies there: paths, never contents. It ends
 * with 0 whatever happens, since the pod waits for it; what it could not see the agent tells.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { credentialFiles, mountPaths, nodeFiles, podFiles } from "#contract/names.ts";
import { contentOf } from "./observe/candidates.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { legacyName, type Sight } from "./facts/search.ts";

function look(root: string, kubeletDirectory: string): Sight {
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
    },
  });
  const sight = look(values.root, values["kubelet-directory"]);
  writeFileSync(join(values["pod-directory"], podFiles.hidden), JSON.stringify(sight));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
process.exit(0);
