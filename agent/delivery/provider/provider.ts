/**
 * Delivery by a credential provider: the kubelet runs a script at each look-up, and the script
 * prints an answer of ours, so that a new one serves the next pull and no kubelet is restarted for
 * it. config.json keeps what is not in the answer.
 */
import { join } from "node:path";
import { nodeFiles, providerFiles, type ProviderScope } from "#contract/names.ts";
import { replace } from "#agent/files/atomic-write.ts";
import { configJson } from "../config-json/config-json.ts";
import type { Delivery, FoundFile, Put } from "../delivery.ts";
import { afterProvider, providedBy } from "./observation.ts";
import { type InstalledProvider, readInstalled } from "./installation.ts";

const { folder, script, config, answer } = providerFiles;
/** The folder's identity tells when the stamp appears, but not each time that it is touched. */
const names = [...configJson.names, folder, script, config, answer];

/** The kubelet has flags, script and configuration already, which are not ours to change. */
export function byProvider(scope: ProviderScope): Delivery {
  return besides(scope, (found, installed) => providedBy(found, installed, scope));
}

/** config.json alone; gives up what a provider was given before the mode changed. */
export const configAfterProvider = besides("All", afterProvider);

function besides(
  scope: ProviderScope,
  together: (config: FoundFile, installed: InstalledProvider) => FoundFile,
): Delivery {
  return {
    names,
    read(directory) {
      const found = configJson.read(directory);
      if (found.kind !== "absent" && found.kind !== "file") return found;
      return together(found, readInstalled(directory, scope));
    },
    async write(rewrite, found, directory) {
      const { first, last, kept } = rewrite;
      if (first) await put(first, directory);
      if (!kept) await configJson.write(rewrite, found, directory);
      if (last) await put(last, directory);
    },
  };
}

async function put({ name, bytes, mode, expected }: Put, directory: string): Promise<void> {
  const staging = join(directory, nodeFiles.folder);
  await replace({ target: join(directory, name), folder: staging, bytes, mode, expected });
}
