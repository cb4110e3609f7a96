/**
 * The installer's policy (`--policy`), declared in GlobalPullSecret's spec by server-side apply.
 * Only the holder of the Lease declares it, so the policy always belongs to the controller that
 * follows it. An old pod that starts again during an upgrade does not overwrite the new policy.
 * After a rollback, the old version's leader declares its own policy again.
 */
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { quotable } from "#kube/client/conditional.ts";
import { isDeclaredBy, pathsOf, titleOf, undoneBy } from "#kube/client/declared-by.ts";
import { fieldManager, pluginManager, policyManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import type { Again } from "#runtime/loop.ts";
import { laidOver, lastingScope } from "./policy/policy-in-force.ts";
import { finding } from "./sources/problems.ts";

const managementState = ["spec", "managementState"] as const;

/** Seconds until a declaration that failed is sent again. */
const pauseSeconds = 30;

/**
 * Our declaration is allowed to change the fields that these managers declare. But it leaves the
 * plugin's `managementState` unchanged while `isHeld` is true. `fieldManager` declares only a scope
 * that was in force when its owner went: a policy without it, or a deleted object.
 */
const ours = [policyManager, pluginManager, fieldManager];

/** The object that the controller follows, and why the policy is not declared in it. */
export type Declared = Readonly<{
  object: GlobalPullSecret;
  /**
   * Why the policy is not declared, one sentence for each field. Empty if the policy is declared.
   */
  problems: readonly string[];
  again: Again | undefined;
}>;

/** True while a `pause` or `withdraw` of the plugin is in force. It lasts until `resume`. */
function isHeld({ metadata, spec }: GlobalPullSecret): boolean {
  const state = spec?.managementState ?? "Managed";
  return state !== "Managed" && isDeclaredBy(pluginManager, metadata, managementState);
}

/**
 * The part of the policy to declare. While the plugin's `pause` or `withdraw` is in force, this
 * part lacks `managementState`.
 */
export function wantedFor(
  policy: GlobalPullSecretSpec,
  live: GlobalPullSecret,
): GlobalPullSecretSpec {
  if (!isHeld(live)) return policy;
  const { managementState: _, ...others } = policy;
  return others;
}

/** One sentence for each field of the policy that another tool, such as Git, declares. */
export function conflicts(
  wanted: GlobalPullSecretSpec,
  { metadata }: GlobalPullSecret,
): readonly string[] {
  return pathsOf(wanted, ["spec"]).flatMap((path) => {
    const other = undoneBy(metadata, path, ours);
    // A client can choose any name, even a name with control characters.
    const who = /^[\w./:@ -]{1,128}$/.exec(other ?? "")?.[0] ?? "another tool";
    return other === undefined
      ? []
      : [`${titleOf(path)}: declared by the installer's --policy and by ${JSON.stringify(who)}`];
  });
}

/**
 * The body of an apply. An apply without fields releases the fields that an earlier apply declared.
 */
const bodyOf = (spec: GlobalPullSecretSpec, metadata: object): object => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name: globalPullSecretName, ...metadata },
  ...(Object.keys(spec).length > 0 && { spec }),
});

/**
 * Asks the API server whether it would accept the policy, and writes nothing. Rejects with one line
 * about the policy if the API server refuses it, and with the ApiError if the answer is unknown. A
 * 404 means that the CRD is missing.
 */
export async function tryPolicy(cluster: Cluster, policy: GlobalPullSecretSpec): Promise<void> {
  if (Object.keys(policy).length === 0) return;
  const how = { manager: policyManager, force: true, dryRun: true };
  try {
    await cluster.apply(globalPullSecretPath, bodyOf(policy, {}), how);
  } catch (error) {
    if (!(error instanceof ApiError && isRefused(error))) throw error;
    const { code } = finding("undeclared", "controller", "--policy");
    throw new Error(`${code}: ${problemOf(error)}`, { cause: error });
  }
}

/**
 * True if the same request would be refused again. The API server answers 500 to an apply with a
 * field that the CRD lacks, or with a value of another type (kubernetes/kubernetes#122480).
 */
export const isRefused = ({ status, detail = "", isDenial }: ApiError): boolean =>
  isDenial ||
  [400, 403, 422].includes(status) ||
  (status === 500 && detail.includes("failed to create typed patch object"));

/** Why the policy is not declared, in one line. */
export function problemOf(error: ApiError): string {
  const why = quotable(error.detail ?? error.message, []);
  return isRefused(error)
    ? `--policy: the API server refuses it: ${why}; correct it (with Helm: the value policy)`
    : `--policy: in force, but its declaration failed: ${error.status || "no answer"} ${why}`;
}

/** Creates the object with these fields, unless the object exists. */
export const createObject = (
  cluster: Cluster,
  spec: GlobalPullSecretSpec,
  manager: string,
): Promise<GlobalPullSecret> =>
  cluster.apply(globalPullSecretPath, bodyOf(spec, { resourceVersion: newborn }), {
    manager,
    force: false,
  });

const delivery = ["spec", "delivery"] as const;

/**
 * Scope Annotated, if only an earlier policy declared it and this policy declares no delivery. The
 * next declaration of this policy would remove the scope, and give the credentials to every pod. An
 * upgrade with Helm can lose values without intention.
 */
const scopeToKeep = (wanted: GlobalPullSecretSpec, { metadata, spec }: GlobalPullSecret) =>
  isDeclaredBy(policyManager, metadata, delivery) &&
  undoneBy(metadata, delivery, ours) === undefined
    ? lastingScope(spec ?? {}, wanted)
    : {};

/**
 * Returns a function that declares the policy in the given object. The function sends one request
 * after each change by another client, and none after our own change. `cluster` must show our own
 * write at the next read. The object's generation can be lower than before, because it goes back if
 * etcd is restored.
 */
export function policyDeclarer(
  cluster: Cluster,
  policy: GlobalPullSecretSpec,
  clock = () => performance.now(),
) {
  let last: string | undefined;
  let failed: Readonly<{ stamp: string; until: number; error: ApiError }> | undefined;
  return async (live: GlobalPullSecret): Promise<Declared> => {
    const done = (object: GlobalPullSecret): Declared => {
      last = stampOf(object);
      return { object, problems: [], again: undefined };
    };
    const stamp = stampOf(live);
    if (stamp === last) return done(live);
    const wanted = wantedFor(policy, live);
    const problems = conflicts(wanted, live);
    if (problems.length > 0) return { object: live, problems, again: undefined };
    if (Object.keys(wanted).length === 0 && !entriesOf(live).some(isPolicys)) return done(live);
    // Until the API server answers, follow the spec with the policy's fields laid over it. The spec
    // alone might contain another client's `maxUnavailable`, with which a single run could restart
    // all kubelets at once.
    const meant = { ...live, spec: laidOver(live.spec, wanted) };
    const undone = (error: ApiError): Declared => ({
      object: isRefused(error) ? live : meant,
      problems: [problemOf(error)],
      again: { seconds: pauseSeconds },
    });
    if (failed?.stamp === stamp && clock() < failed.until) return undone(failed.error);
    const apply = (spec: GlobalPullSecretSpec, manager: string, { metadata }: GlobalPullSecret) => {
      const { uid, resourceVersion } = metadata;
      const body = bodyOf(spec, { uid, resourceVersion });
      return cluster.apply<GlobalPullSecret>(globalPullSecretPath, body, { manager, force: true });
    };
    try {
      const kept = scopeToKeep(wanted, live);
      const found = kept.delivery ? await apply(kept, fieldManager, live) : live;
      return done(await apply(wanted, policyManager, found));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Another client wrote first, or the watch is late.
      if (error.status === 409 && !error.isDenial)
        return { object: meant, problems: [], again: { seconds: error.retryAfterSeconds ?? 1 } };
      failed = { stamp, until: clock() + pauseSeconds * 1000, error };
      return undone(error);
    }
  };
}

const entriesOf = ({ metadata }: GlobalPullSecret): readonly V1ManagedFieldsEntry[] =>
  (metadata.managedFields ?? []).filter(({ subresource }) => subresource === undefined);

const isPolicys = ({ manager }: V1ManagedFieldsEntry): boolean => manager === policyManager;

/** This text changes when the spec or its owners change, but not when the status changes. */
function stampOf(object: GlobalPullSecret): string {
  const { uid, generation } = object.metadata;
  const owners = entriesOf(object).map(({ manager, operation, fieldsV1 }) => [
    manager,
    operation,
    fieldsV1,
  ]);
  return JSON.stringify([uid, generation, owners]);
}
