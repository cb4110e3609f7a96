/**
 * Connects to a cluster. The plugin loads this file only for commands that need a connection.
 * Without this file, commands on files start in a tenth of the time.
 */
import { readFileSync } from "node:fs";
import type { KubeConfig } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig, NoKubeConfig } from "#kube/load.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { Misuse, type ServerAddress, type Reach } from "../terminal/io.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";

/**
 * Returns the connection, without sending a request. Throws Misuse if the kubeconfig cannot be
 * used.
 */
export const reach = (how: Reach): Cluster => {
  const { kubeconfig, as, token, "request-timeout": seconds } = how;
  const dryRun = how["dry-run"] === "server";
  const asGroups = (how["as-group"] ?? []).filter((one) => one !== undefined);
  if (asGroups.length > 0 && as === undefined)
    throw new Misuse("--as-group: needs a user; give --as as well");
  return explained(kubeconfig, () => {
    const config = configOf(how);
    refusePlainHttp(config);
    if (token !== undefined) identify(config, token);
    return connect(config, () => {}, { manager, as, asGroups, dryRun, seconds });
  });
};

function configOf({ kubeconfig, context, cluster, user }: Reach): KubeConfig {
  const config = loadKubeConfig(kubeconfig, context);
  if (cluster !== undefined || user !== undefined) choose(config, cluster, user);
  return config;
}

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

/**
 * Replaces the context's cluster or user by another cluster or user of the kubeconfig. Throws if
 * the kubeconfig does not contain this cluster or user. We look up cluster and user first, because
 * `loadFromClusterAndUser` drops all other clusters and users.
 */
function choose(
  config: KubeConfig,
  clusterName: string | undefined,
  userName: string | undefined,
): void {
  const cluster =
    clusterName === undefined ? config.getCurrentCluster() : config.getCluster(clusterName);
  const user = userName === undefined ? config.getCurrentUser() : config.getUser(userName);
  if (clusterName !== undefined && cluster === null)
    throw new Error(`the kubeconfig has no cluster ${JSON.stringify(clusterName)}`);
  if (userName !== undefined && user === null)
    throw new Error(`the kubeconfig has no user ${JSON.stringify(userName)}`);
  if (cluster !== null) config.loadFromClusterAndUser(cluster, user ?? { name: "none" });
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
export function place(how: Reach): ServerAddress {
  const cluster = explained(how.kubeconfig, () => configOf(how).getCurrentCluster());
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
