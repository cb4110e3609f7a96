/** The tenant's side: SyncSecrets of its cluster, copied to its namespace elsewhere. */
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { conditionOf } from "#kube/conditions.ts";
import { allSyncSecrets, syncSecretsIn } from "../objects.ts";
import type { Found } from "../rules/status.ts";
import type { Live } from "../rules/step.ts";
import { copyOf, isCopy } from "../rules/wanted.ts";
import type { Side } from "../side.ts";

export const tenantSide = (home: Cluster, management: Cluster, namespace: string): Side => ({
  from: home,
  objects: allSyncSecrets,
  to: management,
  made: syncSecretsIn(namespace),
  noun: "copy",
  finalizer: "globalpullsecret.io/sync-tenant",
  wanted: (object, content) => copyOf(object, content, namespace),
  // Whatever has the UID for a name there is a copy.
  isOurs: () => true,
  isCopy,
  told,
});

/** What the management side says of the copy, once it speaks of what is there now. */
function told(copy: Live): Found {
  const { status, metadata } = copy as SyncSecret;
  const ready = conditionOf(status, "Ready");
  if (
    ready === undefined ||
    status === undefined ||
    status.observedGeneration !== metadata.generation
  )
    return { reason: "Waiting", message: "the management cluster has the copy, and no Secret yet" };
  const { secretName, resourceVersion } = status;
  return {
    reason: reasons.find((one) => one === ready.reason) ?? "Waiting",
    message: ready.message ?? "",
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** As the management side says them of a copy that stays. */
const reasons = ["Synced", "Invalid", "Foreign", "Refused", "Unreachable"] as const;
