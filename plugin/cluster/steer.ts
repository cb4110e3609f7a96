/** Writes one field of GlobalPullSecret, under a field manager that can remove it again. */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import {
  globalPullSecretName,
  reasonAnnotation,
  retryAnnotation,
  withdrawNowAnnotation,
} from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { isDeclaredBy, undoneBy } from "#kube/client/declared-by.ts";
import { pluginManager as manager, policyManager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";

type State = NonNullable<GlobalPullSecretSpec["managementState"]>;

/** Annotation → its value; undefined removes the value that the plugin wrote there. */
export type Change = Readonly<{
  state?: State;
  annotations: Readonly<Record<string, string | undefined>>;
  /**
   * Writes even if the installer's policy declares another state. A pause or a withdrawal by the
   * plugin lasts until `resume`, whatever that policy is.
   */
  overPolicy?: boolean;
}>;

/**
 * Maximum number of attempts at a write. A conflict means that another client wrote in between. If
 * every attempt ends in a conflict, that client writes all the time.
 */
const attempts = 5;

/**
 * Writes the change by server-side apply under the plugin's own field manager. Throws Refused and
 * writes nothing if another tool declares one of these fields. The body contains the version of the
 * object that we have read. If another client writes in between, this function starts again.
 */
export async function steer(cluster: Cluster, change: Change): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const live = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
    refuseDeclared(live, change);
    const body = configuration(live, change);
    try {
      // With force, the plugin takes over fields from people who use kubectl. If a tool declares a
      // field, `refuseDeclared` has already thrown.
      await cluster.apply(globalPullSecretPath, body, { manager, force: live !== undefined });
      return;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404)
        throw new Refused(
          "globalpullsecrets: not served by this cluster; apply manifests/crds first",
        );
      if (!(error instanceof ApiError) || error.status !== 409 || attempt === attempts) throw error;
    }
  }
}

function refuseDeclared(
  live: GlobalPullSecret | undefined,
  { state, annotations, overPolicy }: Change,
): void {
  const set = Object.entries(annotations).filter(([, value]) => value !== undefined);
  // A tool that declares the same state does not undo the change.
  const isThere = state === undefined || live?.spec?.managementState === state;
  const paths = [
    ...(isThere ? [] : [["spec", "managementState"]]),
    ...set.map(([name]) => ["metadata", "annotations", name]),
  ];
  const ours = overPolicy ? [manager, policyManager] : [manager];
  for (const path of paths) {
    const who = undoneBy(live?.metadata, path, ours);
    if (who === undefined) continue;
    const [by, where] =
      who === policyManager
        ? ["the controller's --policy", "there (with Helm: the value policy)"]
        : [JSON.stringify(who), "in that tool"];
    throw new Refused(
      `globalpullsecret/${globalPullSecretName}: ${path.join(".")}: declared by ${by}, ` +
        `which would revert the change; nothing is written. Change the field ${where}`,
    );
  }
}

/**
 * The fields that the plugin declares from now on: the change, and the fields that earlier commands
 * have set. An apply removes every field that it does not repeat.
 */
function configuration(live: GlobalPullSecret | undefined, { state, annotations }: Change): object {
  const kept = [retryAnnotation, reasonAnnotation, withdrawNowAnnotation].flatMap((name) => {
    const ours = isDeclaredBy(manager, live?.metadata, ["metadata", "annotations", name]);
    return ours ? [[name, live?.metadata.annotations?.[name]] as const] : [];
  });
  const before = isDeclaredBy(manager, live?.metadata, ["spec", "managementState"])
    ? live?.spec?.managementState
    : undefined;
  const managementState = state ?? before;
  return {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "GlobalPullSecret",
    metadata: {
      name: globalPullSecretName,
      ...(live !== undefined && { resourceVersion: live.metadata.resourceVersion }),
      annotations: { ...Object.fromEntries(kept), ...annotations },
    },
    ...(managementState !== undefined && { spec: { managementState } }),
  };
}
