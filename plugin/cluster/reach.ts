/**
 * Connects to a cluster. The plugin loads this file only for commands that need a connection.
 * Without this file, commands on files start in a tenth of the time.
 */
import { readFileSync } from "node:fs";
import type { KubeConfig } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig, NoKubeConfig } from "#kube/load.ts";
import type { Replacing } from "#kube/client/cluster.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { Misuse, type ServerAddress, type Reach } from "../terminal/io.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";

/** Seconds to wait for an answer of the API server. */
const answerSeconds = 30;

/**
 * Returns the connection, without sending a request. Throws Misuse if the kubeconfig cannot be
 * used.
 */
export const reach = (how: Reach): Replacing => {
  const { kubeconfig, context, token, seconds = answerSeconds } = how;
  return explained(kubeconfig, () => {
    const config = loadKubeConfig(kubeconfig, context);
    refusePlainHttp(config);
    if (token !== undefined) identify(config, token);
    return connect(config, () => {}, { manager, seconds });
  });
};

/**
 * Refuses http://, which `kubectl proxy` serves. The client library refuses http:// too, but its
 * error names options of the library, which users do not know.
 */
function refusePlainHttp(config: KubeConfig): void {
  const { server = "", skipTLSVerify } = config.getCurrentCluster() ?? {};
  if (/^http:/i.test(server) && skipTLSVerify !== true)
    throw new Misuse(
      `context ${quote(config.getCurrentContext())}: its server begins with http://, such as that ` +
        "of kubectl proxy; credentials go over https:// only, so give --context or --kubeconfig of " +
        "the API server itself",
    );
}

/** Uses the token instead of the context's user. */
function identify(config: KubeConfig, token: string): void {
  const cluster = config.getCurrentCluster();
  if (cluster !== null) config.loadFromClusterAndUser(cluster, { name: "token", token });
}

/** Names of the kubeconfig's contexts. Throws Misuse if the kubeconfig cannot be used. */
export const contextsOf = (kubeconfig: string | undefined): readonly string[] =>
  explained(kubeconfig, () =>
    loadKubeConfig(kubeconfig)
      .getContexts()
      .map(({ name }) => name),
  );

/**
 * The namespace of the context. `default` if the context has no namespace. Throws Misuse like
 * `reach`.
 */
export const namespaceOf = ({ kubeconfig, context }: Reach): string =>
  explained(kubeconfig, () => {
    const config = loadKubeConfig(kubeconfig, context);
    return config.getContextObject(config.getCurrentContext())?.namespace || "default";
  });

/**
 * The address and the certificate authority of a context's cluster. Throws Misuse if the kubeconfig
 * or the authority's file cannot be used.
 */
export function place({ kubeconfig, context }: Reach): ServerAddress {
  const cluster = explained(kubeconfig, () =>
    loadKubeConfig(kubeconfig, context).getCurrentCluster(),
  );
  const { server = "", caData, caFile, tlsServerName } = cluster ?? {};
  const authority =
    caData ?? (caFile && explained(caFile, () => readFileSync(caFile).toString("base64")));
  const signer = authority ? { "certificate-authority-data": authority } : {};
  const name = tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName };
  return { server, ...signer, ...name };
}

function explained<Value>(kubeconfig: string | undefined, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof Misuse) throw error;
    if (error instanceof NoKubeConfig) throw new Misuse(`${error.message}; give --kubeconfig FILE`);
    // If a kubeconfig is not YAML, the parser's error quotes lines of it, and they might contain
    // credentials.
    const isReadable = error instanceof Error && error.name !== "YAMLException";
    const cause = isReadable ? error.message : "is empty, or not YAML";
    throw new Misuse(
      `${kubeconfig ?? "kubeconfig"}: cannot be used (${cause}); ` +
        "give --kubeconfig, or --context with one of its contexts",
    );
  }
}
