/** The kubeconfig of a program: a file, the files in KUBECONFIG, or the pod's own account. */
import { existsSync, statSync } from "node:fs";
import { delimiter } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";

/** There is no kubeconfig in any of the usual places, and the program does not run in a pod. */
export class NoKubeConfig extends Error {
  override readonly name = "NoKubeConfig";
  constructor() {
    super("no kubeconfig: KUBECONFIG is not set, and there is no file ~/.kube/config");
  }
}

/** The client library's fallback: an old default of kubectl, which no cluster serves. */
const fallback = { server: "http://localhost:8080", context: "loaded-context" };

/**
 * The kubeconfig in `file`; without `file`, that of KUBECONFIG or the pod's own account. Throws if
 * the kubeconfig cannot be read or lacks the context. Throws NoKubeConfig if there is no
 * kubeconfig.
 */
export function loadKubeConfig(file: string | undefined, context?: string): KubeConfig {
  const several = file === undefined ? listed(process.env["KUBECONFIG"] ?? "") : undefined;
  const config = several ?? new KubeConfig();
  if (file !== undefined) config.loadFromFile(file);
  else if (several === undefined) config.loadFromDefault();
  if (
    config.getCurrentContext() === fallback.context &&
    config.getCurrentCluster()?.server === fallback.server
  )
    throw new NoKubeConfig();
  if (context === undefined) return config;
  if (config.getContextObject(context) === null)
    throw new Error(`the kubeconfig has no context ${JSON.stringify(context)}`);
  config.setCurrentContext(context);
  return config;
}

/**
 * The files in KUBECONFIG, merged as kubectl merges them: the first file's entry for each name, and
 * the first current-context that is set. Missing or empty files are ignored. The client library
 * takes the last current-context, so it would use a different cluster than kubectl. Undefined if at
 * most one file is listed.
 */
function listed(paths: string): KubeConfig | undefined {
  const files = paths.split(delimiter).filter((file) => file !== "");
  if (files.length < 2) return undefined;
  const each = files.filter(hasContent).map((file) => {
    const fileConfig = new KubeConfig();
    fileConfig.loadFromFile(file);
    return fileConfig;
  });
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: firstOfName(each.flatMap(({ clusters }) => clusters)),
    users: firstOfName(each.flatMap(({ users }) => users)),
    contexts: firstOfName(each.flatMap(({ contexts }) => contexts)),
    currentContext: each.find(({ currentContext }) => currentContext)?.currentContext ?? "",
  });
  return config;
}

const hasContent = (file: string): boolean => existsSync(file) && statSync(file).size > 0;

function firstOfName<T extends Readonly<{ name: string }>>(all: readonly T[]): T[] {
  return [...new Map(all.toReversed().map((entry) => [entry.name, entry])).values()];
}
