/**
 * Whether the guards of a joined account are in force. Only requests as this account can show it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { joinedName } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";
import { paths, type Target } from "./rights.ts";

/** An API server applies a new policy within two seconds, and new rights about as fast. */
const attempts = 60;
const pauseMilliseconds = 250;

/**
 * Seconds; the shortest lifetime that an API server allows. The API server should refuse the
 * request.
 */
const shortest = 600;

/**
 * Returns once the guards refuse the account both an unbound token and a Secret that Kubernetes
 * would fill with a token. Throws Refused if they do not within 15 s. The caller must then not
 * store a token of the account. `there`: as the account.
 */
export async function untilGuarded(there: Cluster, targets: readonly Target[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const refused = await Promise.all([
      isRefused(askToken(there)),
      ...targets.slice(0, 1).map((target) => isRefused(askSecret(there, target))),
    ]);
    if (refused.every(Boolean)) return;
    if (attempt === attempts)
      throw new Refused(
        "its API server does not hold the account to the admission policies " +
          `${joinedName}-secrets and -tokens; see that admission plugin ` +
          "ValidatingAdmissionPolicy is not disabled there",
      );
    await pause(pauseMilliseconds);
  }
}

const askToken = (there: Cluster) =>
  there.create(`${paths.account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: shortest },
  });

/**
 * Tries to create the Secret, by a dry run. If the Secret exists already, its type cannot be
 * changed, so the API server refuses that as well.
 */
const askSecret = (there: Cluster, { namespace: where, name }: Target) =>
  there.apply(
    `${secretsIn(where)}/${name}`,
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: {
        name,
        namespace: where,
        annotations: { "kubernetes.io/service-account.name": joinedName },
      },
    },
    { manager, force: true, dryRun: true },
  );

/**
 * By a policy, 422. RBAC answers 403, and an API server that does not know the token yet answers
 * 401. Neither answer comes from the guards.
 */
async function isRefused(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 422) return true;
    if ([401, 403].includes(error.status)) return false;
    throw error;
  }
}
