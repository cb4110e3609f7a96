/** The policy (`spec`) of GlobalPullSecret, declared as the chart's values give it. */
import { globalPullSecretName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Refused } from "../terminal/io.ts";
import { manager } from "./names.ts";
import { undoneBy } from "./ownership.ts";
import { applyToObject } from "./steer.ts";

/**
 * The field manager of a declared policy. It is not the plugin's own: an apply removes the fields
 * that it does not repeat, and `pause` must not remove a policy.
 */
const policyManager = "global-pull-secret-policy";

type Spec = Readonly<Record<string, unknown>>;

/**
 * Declares exactly these fields of `spec`. Fields that an earlier call declared and this one does
 * not go back to their defaults. Refused, with nothing written, if another tool declares one of the
 * fields; what the plugin's other commands set is replaced.
 */
export async function declarePolicy(cluster: Cluster, spec: Spec): Promise<void> {
  await applyToObject(cluster, { manager: policyManager, force: true }, (live) => {
    for (const path of pathsOf(spec, ["spec"])) {
      const other = undoneBy(live?.metadata, path, [manager, policyManager]);
      if (other !== undefined)
        throw new Refused(
          `globalpullsecret/${globalPullSecretName}: ${path.join(".")}: declared by ` +
            `${JSON.stringify(other)}, which would revert the change; nothing is written. Declare the field in one place`,
        );
    }
    const metadata = {
      name: globalPullSecretName,
      ...(live !== undefined && { resourceVersion: live.metadata.resourceVersion }),
    };
    return { apiVersion: "globalpullsecret.io/v1alpha1", kind: "GlobalPullSecret", metadata, spec };
  });
}

/** Paths of the fields at the ends. Several managers may share a list, so lists are left out. */
function pathsOf(value: Spec, above: readonly string[]): readonly (readonly string[])[] {
  return Object.entries(value).flatMap(([name, one]) => {
    if (Array.isArray(one)) return [];
    const path = [...above, name];
    return typeof one === "object" && one !== null ? pathsOf(one as Spec, path) : [path];
  });
}
