/** The way to a cluster. Loaded only when a command needs one: files alone take a tenth of it. */
import { connect, loadKubeConfig } from "#kube/client/client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Misuse, type Reach } from "../terminal/io.ts";
import { manager } from "./names.ts";

export { dumpYaml } from "#kube/yaml.ts";

/** Throws Misuse where the kubeconfig cannot be used. Asks nothing yet. */
export function reach({ kubeconfig, context, as, "request-timeout": seconds }: Reach): Cluster {
  try {
    const config = loadKubeConfig(kubeconfig, context);
    return connect(config, () => {}, { manager, as, seconds });
  } catch (error) {
    // Of a kubeconfig that is no YAML the parser quotes lines, which may be credentials.
    const said = error instanceof Error && error.name !== "YAMLException" ? error.message : "";
    throw new Misuse(
      `${kubeconfig ?? "kubeconfig"}: cannot be used${said === "" ? "" : ` (${said})`}; ` +
        "give --kubeconfig, or --context with one of its contexts",
    );
  }
}
