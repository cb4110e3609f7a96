/**
 * Checks whether the guards of a joined account are in force: the admission policies that limit the
 * account. Only requests by the account itself can show this.
 */
import { setTimeout as pause } from "node:timers/promises";
import { joinedName } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";
import { paths, secretPathOf, type Target } from "./rights.ts";

/**
 * Maximum number of attempts, which take 15 s. An API server applies a new policy within two
 * seconds, and new rights about as fast.
 */
const attempts = 60;
const pauseMilliseconds = 250;

/**
 * Lifetime, in seconds, of the token that we request: the shortest that an API server allows,
 * because the API server issues the token if the guards do not refuse the request.
 */
const shortest = 600;

/**
 * Returns as soon as the guards refuse two requests of the account: for an unbound token, and for a
 * Secret that Kubernetes would fill with a token. Throws Refused if one of the requests is still
 * accepted after 15 s. The caller must then not store a token of the account. `cluster`: the
 * cluster, with the account's credential.
 *
 * We can test the policy for Secrets only with a Secret that does not exist, because an existing
 * Secret cannot change its type. If all Secrets exist, the refusal of the token is enough: the API
 * server applies policies in the order of their creation, and the join creates the policy for
 * tokens last.
 */
export async function untilGuarded(cluster: Cluster, targets: readonly Target[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    if ((await isRefused(askToken(cluster))) && (await areSecretsRefused(cluster, targets))) return;
    if (attempt === attempts)
      throw new Refused(
        "its API server does not apply the admission policies " +
          `${joinedName}-secrets and -tokens to the account; check that admission plugin ` +
          "ValidatingAdmissionPolicy is not disabled there",
      );
    await pause(pauseMilliseconds);
  }
}

async function areSecretsRefused(cluster: Cluster, targets: readonly Target[]): Promise<boolean> {
  for (const target of targets) {
    const state = await read(cluster, secretPathOf(target));
    if (state === "absent") return isRefused(askSecret(cluster, target));
    if (state === "denied") return false;
  }
  return true;
}

/** Whether the Secret exists. `denied`: the account has no right to read the Secret yet. */
async function read(cluster: Cluster, path: string): Promise<"there" | "absent" | "denied"> {
  try {
    return (await cluster.get(path, { as: "metadata" })) === undefined ? "absent" : "there";
  } catch (error) {
    if (error instanceof ApiError && [401, 403].includes(error.status)) return "denied";
    throw error;
  }
}

const askToken = (cluster: Cluster) =>
  cluster.create(`${paths.account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: shortest },
  });

/** Tries in a dry run to create the Secret with a type for tokens. */
const askSecret = (cluster: Cluster, target: Target) =>
  cluster.apply(
    secretPathOf(target),
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: {
        ...target,
        annotations: { "kubernetes.io/service-account.name": joinedName },
      },
    },
    { manager, force: true, dryRun: true },
  );

/**
 * Whether a policy refused the request, with 422 and a denial. Other refusals do not come from the
 * guards. RBAC answers 403. An API server that does not accept the token yet answers 401. An
 * invalid object gets 422 without a denial.
 */
async function isRefused(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 422) return error.isDenial;
    if ([401, 403].includes(error.status)) return false;
    throw error;
  }
}
