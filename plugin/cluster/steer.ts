/**
 * Writes fields of GlobalPullSecret under the plugin's own field manager, so that the plugin can
 * remove them again.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { globalPullSecretName, retryAnnotation } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { isDeclaredBy, undoneBy } from "#kube/client/declared-by.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";

type State = NonNullable<GlobalPullSecretSpec["managementState"]>;

/** The change to write. `retry`: the new value of the annotation that requests a retry. */
export type Change = Readonly<{ state?: State; retry?: string }>;

/**
 * Field manager of Helm. Helm writes fields only during an install, upgrade or rollback, so it does
 * not revert a change in between.
 */
const helm = "helm";

const retryPath = ["metadata", "annotations", retryAnnotation];

/**
 * Maximum number of attempts at a write. If all attempts end in a conflict, another client writes
 * the object all the time.
 */
const attempts = 5;

/**
 * Writes the change by server-side apply. Throws Refused and writes nothing if another tool
 * declares one of these fields. If another client writes the object between our read and our write,
 * we start again.
 */
export async function steer(cluster: Cluster, change: Change): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const live = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
    refuseDeclared(live, change);
    const body = configuration(live, change);
    try {
      // With force, we take over fields that people wrote with kubectl. `refuseDeclared` has
      // already refused fields of other tools.
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

function refuseDeclared(live: GlobalPullSecret | undefined, { state, retry }: Change): void {
  // If a tool declares the state that we want, the tool does not revert our change.
  const isThere = state === undefined || live?.spec?.managementState === state;
  const paths = [
    ...(isThere ? [] : [["spec", "managementState"]]),
    ...(retry === undefined ? [] : [retryPath]),
  ];
  for (const path of paths) {
    const who = undoneBy(live?.metadata, path, [manager, helm]);
    if (who === undefined) continue;
    throw new Refused(
      `globalpullsecret/${globalPullSecretName}: ${path.join(".")}: declared by ${JSON.stringify(who)}, ` +
        `which would revert the change; nothing is written. Change the field in that tool`,
    );
  }
}

/**
 * The body of the apply: the change, and the fields that earlier commands have set. We repeat the
 * earlier fields, because an apply removes every field of its manager that it does not contain.
 */
function configuration(live: GlobalPullSecret | undefined, { state, retry }: Change): object {
  const earlier = isDeclaredBy(manager, live?.metadata, retryPath)
    ? live?.metadata.annotations?.[retryAnnotation]
    : undefined;
  const requested = retry ?? earlier;
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
      annotations: { ...(requested !== undefined && { [retryAnnotation]: requested }) },
    },
    ...(managementState !== undefined && { spec: { managementState } }),
  };
}
