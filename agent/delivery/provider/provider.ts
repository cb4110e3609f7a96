/**
 * Delivery by a credential provider: the kubelet runs a script at each look-up, and the script
 * prints an answer of ours, so that a new one serves the next pull and no kubelet is restarted for
 * it. config.json keeps what is not in the answer.
 */
import { existsSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { kubeadmFlagsFile, nodeFiles, providerFiles, type ProviderScope } from "#contract/names.ts";
import { remove, replace, sync } from "#agent/files/atomic-write.ts";
import { unless } from "#agent/files/errno.ts";
import { makeDirectory } from "#agent/journal/folder.ts";
import { configJson } from "../config-json/config-json.ts";
import type { Delivery, FoundFile, Put } from "../delivery.ts";
import { afterProvider, providedBy } from "./observation.ts";
import { readInstalled } from "./installation.ts";
import { registeredBy } from "./registered.ts";
import { hasFlags, readTree } from "./tree.ts";

const { folder, script, config, answer } = providerFiles;
/** The folder's identity tells when the stamp appears, but not each time that it is touched. */
const tree = [folder, script, config, answer];

/** The kubelet has flags, script and configuration already, which are not ours to change. */
export function preinstalledProvider(scope: ProviderScope): Delivery {
  return besides(tree, (found, at) => providedBy(found, readInstalled(at, scope), scope));
}

/** The agent gives the kubelet flags, script and configuration, by one restart. */
export function registeredProvider(scope: ProviderScope): Delivery {
  const read = (found: FoundFile, at: string) => registeredBy(found, readTree(at, scope), scope);
  return { ...besides([...tree, kubeadmFlagsFile], read), registers: true };
}

/** config.json alone; gives up what a provider was given before the mode changed. */
export const configAfterProvider = besides([...tree, kubeadmFlagsFile], (found, at) =>
  afterProvider(found, readInstalled(at, "All"), hasFlags(at)),
);

function besides(
  names: readonly string[],
  together: (config: FoundFile, kubeletDirectory: string) => FoundFile,
): Delivery {
  return {
    names: [...configJson.names, ...names],
    read(directory) {
      const found = configJson.read(directory);
      if (found.kind !== "absent" && found.kind !== "file") return found;
      return together(found, directory);
    },
    async write(rewrite, found, directory) {
      const { first = [], last = [], kept } = rewrite;
      for (const one of first) await put(one, directory);
      if (!kept) await configJson.write(rewrite, found, directory);
      for (const one of last) await put(one, directory);
    },
  };
}

async function put({ name, file, expected }: Put, directory: string): Promise<void> {
  const target = join(directory, name);
  if ("absent" in file) {
    // Its folder may have gone with the file before it.
    if (existsSync(dirname(target))) await remove(target, expected);
    for (const one of foldersOf(name).toReversed())
      unless("ENOTEMPTY", () => unless("ENOENT", () => rmdirSync(join(directory, one))));
    return await sync(directory);
  }
  for (const one of foldersOf(name)) {
    // Asked first: an agent that may write the answer alone may not make a folder, either.
    if (existsSync(join(directory, one))) continue;
    makeDirectory(join(directory, one));
    await sync(dirname(join(directory, one)));
  }
  const staging = join(directory, nodeFiles.folder);
  await replace({ target, folder: staging, ...file, expected });
}

/** The folders that a file of ours lies in, below the kubelet's directory, outermost first. */
function foldersOf(name: string): string[] {
  const parts = name.split("/").slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}
