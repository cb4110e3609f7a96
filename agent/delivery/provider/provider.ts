/**
 * Delivery by a credential provider: the kubelet runs a script at each look-up, and the script
 * prints an answer of ours, so that a new one serves the next pull and no kubelet is restarted for
 * it. config.json keeps what is not in the answer.
 */
import { join } from "node:path";
import { nodeFiles, providerFiles, type Scope } from "#contract/names.ts";
import { replace } from "../../files/atomic-write.ts";
import { configJson } from "../config-json/config-json.ts";
import type { Answer, Delivery, Found } from "../delivery.ts";
import { afterProvider, providedBy } from "./found.ts";
import { type Installed, readInstalled } from "./installed.ts";

const { folder, script, config, answer } = providerFiles;

/** The kubelet has flags, script and configuration already, which are not ours to change. */
export function preinstalledProvider(scope: Scope): Delivery {
  return withAnswer(scope, (found, installed) => providedBy(found, installed, scope));
}

/** config.json alone; gives up what a provider was given before the mode changed. */
export const configAfterProvider: Delivery = withAnswer("All", afterProvider);

function withAnswer(
  scope: Scope,
  together: (config: Found, installed: Installed) => Found,
): Delivery {
  return {
    // The folder's identity tells when the stamp appears, but not each time that it is touched.
    names: [...configJson.names, folder, script, config, answer],
    read(directory) {
      const found = configJson.read(directory);
      if (found.kind !== "absent" && found.kind !== "file") return found;
      return together(found, readInstalled(directory, scope));
    },
    async write(rewrite, found, directory) {
      const { answer, kept } = rewrite;
      if (answer?.order === "first") await writeAnswer(answer, directory);
      if (!kept) await configJson.write(rewrite, found, directory);
      if (answer?.order === "last") await writeAnswer(answer, directory);
    },
  };
}

async function writeAnswer({ bytes, expected }: Answer, directory: string): Promise<void> {
  const target = join(directory, answer);
  await replace({
    target,
    folder: join(directory, nodeFiles.folder),
    bytes,
    mode: 0o600,
    expected,
  });
}
