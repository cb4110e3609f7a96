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
 *
 * The type of an existing Secret cannot be changed, so only a Secret that does not exist tests the
 * policy. If all exist, the token stands for both: the API server takes up the policies in the
 * order of their creation, and the policy for tokens was created last.
 */
export async function untilGuarded(there: Cluster, targets: readonly Target[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    if ((await isRefused(askToken(there))) && (await areSecretsRefused(there, targets))) return;
    if (attempt === attempts)
      throw new Refused(
        "its API server does not hold the account to the admission policies " +
          `${joinedName}-secrets and -tokens; see that admission plugin ` +
          "ValidatingAdmissionPolicy is not disabled there",
      );
    await pause(pauseMilliseconds);
  }
}

async function areSecretsRefused(there: Cluster, targets: readonly Target[]): Promise<boolean> {
  for (const target of targets) {
    const known = await read(there, pathOf(target));
    if (known === "absent") return await isRefused(askSecret(there, target));
    if (known === "denied") return false;
  }
  return true;
}

/** Whether the Secret exists. `denied`: the account's right to read it is not in force yet. */
async function read(there: Cluster, path: string): Promise<"there" | "absent" | "denied"> {
  try {
    return (await there.get(path, { as: "metadata" })) === undefined ? "absent" : "there";
  } catch (error) {
    if (error instanceof ApiError && [401, 403].includes(error.status)) return "denied";
    throw error;
  }
}

const pathOf = ({ namespace: where, name }: Target) => `${secretsIn(where)}/${name}`;

const askToken = (there: Cluster) =>
  there.create(`${paths.account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: shortest },
  });

/** Tries to create the Secret, by a dry run. */
const askSecret = (there: Cluster, target: Target) =>
  there.apply(
    pathOf(target),
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
 * By a policy: 422 and a denial. RBAC answers 403, an API server that does not know the token yet
 * answers 401, and one that finds the object invalid answers 422 without a denial. These answers do
 * not come from the guards.
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
