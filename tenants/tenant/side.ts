/**
 * The tenant's side: copies SyncSecrets of the tenant's cluster to the tenant's namespace of the
 * management cluster.
 */
import type { V1Namespace } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { conditionOf } from "#kube/conditions.ts";
import { allSyncSecrets, syncSecretsIn } from "../objects.ts";
import type { Found } from "../rules/status.ts";
import type { Live } from "../rules/step.ts";
import { copyOf, isCopy } from "../rules/copies.ts";
import { isOfCluster } from "../rules/origin.ts";
import type { Side } from "../side.ts";

type Options = Readonly<{
  home: Cluster;
  management: Cluster;
  /** The tenant's namespace there. */
  namespace: string;
  /** Seconds until a deleted object goes without confirmation from there. */
  deadline?: number;
  warning?: () => string | undefined;
  leftBehind?: Side["leftBehind"];
}>;

export function tenantSide(options: Options): Side {
  const { home, management, namespace, deadline = 3600, warning, leftBehind } = options;
  let id: string | undefined;
  return {
    deadline,
    ...(warning === undefined ? {} : { warning }),
    ...(leftBehind === undefined ? {} : { leftBehind }),
    from: home,
    objects: allSyncSecrets,
    to: management,
    made: syncSecretsIn(namespace),
    noun: "copy",
    finalizer: "globalpullsecret.io/sync-tenant",
    // The Secret of a copy goes first, and then the copy.
    propagation: "Foreground",
    /**
     * Reads the id of this cluster, once. Without the right to, nothing left behind is collected.
     */
    async prepare() {
      const path = "/api/v1/namespaces/kube-system";
      id ??= (await home.get<V1Namespace>(path).catch(() => undefined))?.metadata?.uid;
    },
    isOwn: (made) => isCopy(made) && isOfCluster(made, id),
    wanted: (object, content) => copyOf(object, content, namespace, id),
    // Only a copy can be named by the UID of the object.
    isOurs: () => true,
    isCopy,
    told,
  };
}

/**
 * What the management side says in the copy's status. A status of a former generation says nothing
 * of the present content: until it is current, the object waits.
 */
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

/** The management side's reasons, except Leaving, which the tenant's side gives itself. */
const reasons = ["Synced", "Invalid", "Foreign", "Refused", "Unreachable"] as const;
