/** Writes fields of GlobalPullSecret under the plugin's own field manager. */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { globalPullSecretName, retryAnnotation } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { undoneBy } from "#kube/client/declared-by.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";
import { readObject } from "./object.ts";
import { untilUncontested } from "./read.ts";

type State = NonNullable<GlobalPullSecretSpec["managementState"]>;

/** The change to write. `retry`: the new value of the annotation that requests a retry. */
export type Change = Readonly<{ state?: State; retry?: string }>;

/**
 * Field manager of Helm. Helm writes fields only during an install, upgrade or rollback, so it does
 * not revert a change in between.
 */
const helm = "helm";

/**
 * Writes the change. Throws Refused and writes nothing if the object does not exist, or if another
 * tool declares one of these fields. If another client writes the object between our read and our
 * write, we start again.
 */
export async function steer(cluster: Cluster, change: Change): Promise<void> {
  const { state, retry } = change;
  await untilUncontested(async () => {
    const live = await readObject(cluster);
    refuseDeclared(live, change);
    const { uid = "", resourceVersion = "" } = live.metadata;
    const annotations = retry !== undefined && { annotations: { [retryAnnotation]: retry } };
    await cluster.patch(globalPullSecretPath, {
      metadata: { uid, resourceVersion, ...annotations },
      ...(state !== undefined && { spec: { managementState: state } }),
    });
  });
}

function refuseDeclared({ metadata, spec }: GlobalPullSecret, { state, retry }: Change): void {
  // If a tool declares the state that we want, the tool does not revert our change.
  const isThere = state === undefined || spec?.managementState === state;
  const paths = [
    ...(isThere ? [] : [["spec", "managementState"]]),
    ...(retry === undefined ? [] : [["metadata", "annotations", retryAnnotation]]),
  ];
  for (const path of paths) {
    const who = undoneBy(metadata, path, [manager, helm]);
    if (who === undefined) continue;
    throw new Refused(
      `globalpullsecret/${globalPullSecretName}: ${path.join(".")}: declared by ${JSON.stringify(who)}, ` +
        `which would revert the change; nothing is written. Change the field in that tool`,
    );
  }
}
