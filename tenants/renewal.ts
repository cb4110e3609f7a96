/**
 * Renews the token of the tenant's account in the management cluster, after half of the token's
 * lifetime. The kubeconfig with the token is a file of a mounted Secret. This program writes the
 * Secret, and the kubelet then updates the file.
 */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import type { V1Secret } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { kubeconfigKey, managementSecret, tenantAccount, tenantBound } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { otherManager } from "#kube/client/ownership.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { systemRoots } from "#kube/kubeconfig/parse.ts";
import { Contest } from "#kube/contested-client.ts";
import { createLoop, logFailures, type Again } from "#runtime/loop.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { ageOfToken, requestToken, timesIn } from "#kube/token.ts";
import { syncManager } from "./rules/copies.ts";
import { sentence } from "./rules/problems.ts";

type Options = Readonly<{
  /** The tenant's cluster, which has the Secret. */
  home: Cluster;
  management: Cluster;
  /** The tenant's namespace in the management cluster. */
  namespace: string;
  /** Path of the kubeconfig. */
  file: string;
  log: Logger;
  /** Called with the time at which the token expires, in seconds. 0 if unknown. */
  ends: (seconds: number) => void;
  /** Called with a message if the token expires soon, otherwise with undefined. */
  warn: (message: string | undefined) => void;
}>;

/**
 * How often we renew the same token: three times at once, then once an hour. If this is not enough,
 * another client keeps restoring the old token, and each renewal issues one more token.
 */
const renewals = { perSecond: 1 / 3600, atOnce: 3 };

/** Seconds between two checks of the file. A token is valid for at least ten minutes. */
const recheckSeconds = 60;

const path = `${collections.secrets}/${managementSecret}`;

export function createRenewal(options: Options) {
  const { home, management, namespace, file, log, ends, warn } = options;
  const contest = new Contest<string>(renewals, (first, other) => first === other);
  /** The client that keeps restoring the old token. Undefined if there is none. */
  let other: string | undefined;

  async function run(): Promise<Again> {
    const bytes = readFileSync(file);
    const read = readKubeconfig(bytes, file);
    const token = read.ok ? read.access.proof.token : undefined;
    const { issued, expires } = timesIn(token ?? "");
    const now = Date.now();
    const age = ageOfToken({ issued, expires }, now);
    ends(age === "unknown" ? 0 : expires / 1000);
    const why = read.ok && age === "due" ? await renewed(read.access, bytes) : undefined;
    // True in the last quarter of the token's lifetime. By then, the renewal has failed for a
    // quarter of the lifetime.
    const late = age === "expired" || (age === "due" && now >= expires - (expires - issued) / 4);
    if (age !== "due") other = undefined;
    const warning = late
      ? sentence("tokenEnds", `${new Date(expires).toISOString()} (${why ?? age})`)
      : undefined;
    warn(other === undefined ? warning : sentence("tokenContested", other));
    return { seconds: recheckSeconds };
  }

  /** Renews the token. Returns why that failed, or undefined. */
  async function renewed(access: Access, bytes: Uint8Array): Promise<string | undefined> {
    try {
      const secret = await home.get<V1Secret>(path);
      const storedConfig = secret?.data?.[kubeconfigKey];
      if (secret === undefined || storedConfig === undefined)
        return `no Secret ${managementSecret}`;
      // If the Secret and the file differ, we must not write the Secret: either we have already
      // renewed the token, and the kubelet will update the file within two minutes, or the file is
      // not from this Secret.
      if (!Buffer.from(storedConfig, "base64").equals(bytes))
        return `the file is not Secret ${managementSecret}`;
      if (contest.lostUntil(storedConfig, performance.now()) !== undefined) {
        other = otherManager(secret.metadata) ?? "another client";
        return "it was renewed, and the old token was restored";
      }
      const account = { namespace, name: tenantAccount, bound: tenantBound };
      const token = await requestToken(management, account);
      const body = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: managementSecret, uid: secret.metadata?.uid },
        data: { [kubeconfigKey]: Buffer.from(kubeconfigOf(access, token)).toString("base64") },
      };
      await home.apply(path, body, { manager: syncManager, force: true });
      contest.wrote(storedConfig, performance.now());
      log.info({ secret: managementSecret }, "the token for the management cluster is renewed");
      return undefined;
    } catch (error) {
      const why =
        error instanceof ApiError ? `${error.status || "no answer"} ${error.reason}` : "no token";
      log.warn({ error: (error as Error).message }, "the token cannot be renewed; trying again");
      return why;
    }
  }

  return createLoop({ run, failed: logFailures(log, "the token cannot be read") });
}

/** A kubeconfig of the same cluster with this token. JSON is YAML. */
function kubeconfigOf({ server, authority, serverName }: Access, token: string): string {
  const name = "management";
  const cluster = {
    server,
    ...(authority === undefined
      ? { extensions: [systemRoots] }
      : { "certificate-authority-data": authority }),
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  });
}
