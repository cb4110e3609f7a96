/** One joined cluster: observes its API server and renews its token. */
import type { V1Secret } from "@kubernetes/client-node";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { requestToken, tokenSecret } from "#kube/token.ts";
import type { AccessReading } from "./inventory/access.ts";
import { fleetManager } from "./connection.ts";
import type { FoundCluster } from "./joined-status.ts";
import { isAsMade, joinedGuards, objectsOf } from "#contract/joined.ts";

/**
 * Limits of one answer: seconds, bytes, and JSON values. A policy has 5 KiB. Fifty answers that
 * arrive at the same time take up to 25 MiB. Parsing one answer takes 1 MiB more.
 */
const limits = { seconds: 10, largest: 256 * 1024, mostValues: 10_000 };

/**
 * While the policies are in place, only every tenth observation reads them: with the policies, an
 * observation takes six requests instead of two. The condition AccountGuarded is at most about five
 * minutes old.
 */
const observationsPerGuard = 10;

/**
 * Milliseconds from one renewal of a token to the next. If the cluster's clock is wrong, if the
 * cluster lies, or if another program restores an old token, each new token is due at once. A token
 * is valid for an hour at least, so this leaves it three renewals.
 */
const betweenRenewals = 600_000;

export class JoinedCluster {
  #nextRenewal = 0;
  #observations = 0;
  #guarded = false;
  #open: Readonly<{ sourceText: string; cluster: Cluster }> | undefined;

  /**
   * Reads the API server's version and readiness, and the policies that limit our account. Never
   * rejects.
   */
  async observe(read: AccessReading): Promise<FoundCluster> {
    if (!read.ok) return { kind: "noAccess", why: read.why };
    if (this.#open?.sourceText !== read.sourceText) {
      const how = { manager: fleetManager, ...limits };
      this.#guarded = false;
      this.#open = {
        sourceText: read.sourceText,
        cluster: connect(kubeConfigOf(read.access), () => {}, how),
      };
    }
    const { cluster } = this.#open;
    try {
      const answer = await cluster.get<{ gitVersion?: unknown }>("/version");
      const version = answer?.gitVersion;
      if (typeof version !== "string" || !/^v[-+.0-9A-Za-z]{1,63}$/.test(version))
        return { kind: "away", why: "the answer to /version is not that of an API server" };
      const ready = await isReady(cluster);
      // While etcd is down, reads of the policies fail, and the cluster would count as unreachable.
      const guarded = ready ? await this.#isGuarded(cluster) : undefined;
      return { kind: "answers", version, ready, guarded };
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return { kind: "refused" };
      return { kind: "away", why: error instanceof ApiError ? error.bare : "not an API server" };
    }
  }

  /**
   * Whether the policies are in place. We read them in each observation until they are in place,
   * and then in every tenth observation.
   */
  async #isGuarded(cluster: Cluster): Promise<boolean> {
    this.#observations += 1;
    if (!this.#guarded || this.#observations % observationsPerGuard === 0)
      this.#guarded = await isGuarded(cluster);
    return this.#guarded;
  }

  /**
   * Requests a new token from the cluster, and stores it in the Secret in the management cluster.
   * False if we did so a short time ago.
   */
  async renew(home: Cluster, { metadata }: ClusterProfile, secret: V1Secret): Promise<boolean> {
    if (this.#open === undefined || performance.now() < this.#nextRenewal) return false;
    this.#nextRenewal = performance.now() + betweenRenewals;
    const token = await requestToken(this.#open.cluster);
    const { namespace = "", name = "" } = metadata;
    // If a user has just deleted the Secret, the uid prevents this write from creating it again.
    const body = { ...tokenSecret(token), metadata: { name, uid: secret.metadata?.uid } };
    const how = { manager: fleetManager, force: true };
    await home.apply(`${secretsIn(namespace)}/${name}`, body, how);
    return true;
  }
}

/**
 * Whether the API server is ready. False also for status 500, the answer of a broken control plane.
 */
async function isReady(cluster: Cluster): Promise<boolean> {
  try {
    return (await cluster.get<string>("/readyz", { as: "text" })) === "ok";
  } catch (error) {
    if (error instanceof ApiError && error.status >= 500) return false;
    throw error;
  }
}

/**
 * True when each policy and its binding are exactly as a join creates them. False if someone
 * removed our account's right to read them. Rejects with ApiError if there is no answer.
 */
export async function isGuarded(cluster: Cluster): Promise<boolean> {
  try {
    // We read the four objects one after the other, so that only one answer at a time is in memory.
    for (const { path, body } of joinedGuards.flatMap((guard) => objectsOf(guard)))
      if (!isAsMade((await cluster.get<Specified>(path))?.spec, body.spec)) return false;
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return false;
    throw error;
  }
}

type Specified = Readonly<{ spec?: unknown }>;
