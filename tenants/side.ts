/** Describes a side: where its objects are, where it writes the results, and how it makes them. */
import type { V1Namespace, V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { SyncSecret, SyncSecretReference } from "#api/sync-secret.ts";
import { writeFailure, type Declared, type LiveCopy } from "#kube/apply/copy.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { tenantFinalizer } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { allSyncSecrets, secretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import type { Excess } from "#kube/watch/others.ts";
import type { Held, SyncContent } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import type { Found } from "./rules/status.ts";
import { isSecretOf, secretOf, copyOf, isCopy } from "./rules/copies.ts";
import { syncSecretsIn } from "./objects.ts";
import { isOfCluster } from "./rules/origin.ts";

export type Side = Readonly<{
  /** The cluster that has the SyncSecrets, and the path of their collection. */
  from: Cluster;
  objects: string;
  /**
   * The cluster in which this side makes a result from each SyncSecret, and the path of the
   * collection of results. A result's name is the SyncSecret's UID.
   */
  to: Cluster;
  results: string;
  /** What this side calls a result in messages: `copy` or `Secret`. */
  noun: string;
  /** Finalizer that keeps a deleted object until its result is gone. */
  finalizer?: string;
  /**
   * Foreground: the API server deletes the objects that a result owns, and then the result.
   * Background: it deletes the result first.
   */
  propagation: "Foreground" | "Background";
  /** The content of the Secret that the object names, or why it cannot be used. */
  referenced?: (object: SyncSecret, reference: SyncSecretReference) => Promise<Held | string>;
  resultOf: (object: SyncSecret, content: SyncContent) => Declared;
  /**
   * True if we made the live object from the SyncSecret with this UID, even if others have edited
   * it.
   */
  isOurs: (live: V1ObjectMeta, uid: string) => boolean;
  /** True for a copy, which this side must not copy again. */
  isCopy?: (metadata: V1ObjectMeta) => boolean;
  /** What to report in the object's status when the live object is as wanted. */
  describe: (live: LiveCopy) => Found;
  /** Called before each run. */
  prepare?: () => Promise<void>;
  /**
   * True for a result that this side made from an object of its own cluster. If that object is
   * missing, the engine deletes the result.
   */
  isOwn?: (metadata: V1ObjectMeta) => boolean;
  /**
   * Seconds after an object's deletion until this side stops waiting. It then removes its own
   * finalizer, even though the result might still exist.
   */
  deadline?: number;
  /** Reports an object whose deletion ended at the deadline. */
  leftBehind?: (object: V1ObjectMeta, message: string) => Promise<void>;
  /** Why this side will soon stop working. Undefined if nothing is wrong. */
  warning?: () => string | undefined;
  /** Reports what this side leaves out, because it is too large, too much or too fast. */
  exceeded?: (excess: Excess, message: string) => Promise<void>;
}>;

/**
 * Thrown if this side could not make the result in the other cluster. We report why in the object's
 * status, because the object's own cluster usually still works.
 */
export class Elsewhere extends Error {
  readonly outcome: Found;
  /** If admission changed our write: the result's metadata after the write. */
  readonly written: V1ObjectMeta | undefined;

  /** `message` is only for the log. */
  constructor(outcome: Found, more: Readonly<{ message?: string; written?: V1ObjectMeta }> = {}) {
    super(more.message ?? outcome.message);
    this.outcome = outcome;
    this.written = more.written;
  }
}

/**
 * Turns the error of a request into Elsewhere, except a conflict: after a conflict, the caller
 * reads the object again.
 */
export async function elsewhere<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.status !== 409)
      throw new Elsewhere(foundBy(error), { message: error.message });
    throw error;
  }
}

function foundBy(error: ApiError): Found {
  // We report only the HTTP status and the reason, because the message can quote the request.
  const why = `${error.status || "no answer"} ${error.reason}`;
  switch (writeFailure(error)) {
    case "denied":
      return { reason: "Denied", message: sentence("denied", why) };
    case "away":
      return { reason: "Unreachable", message: sentence("unreachable", why) };
    default:
      return { reason: "Refused", message: sentence("refused", why) };
  }
}

/** The name of each Secret of ours. A copy that a person makes of it has another name. */
const isUid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const managementSide = (
  cluster: Cluster,
  namespace: string,
  reports: Pick<Side, "exceeded"> = {},
): Side => ({
  ...reports,
  from: cluster,
  objects: syncSecretsIn(namespace),
  to: cluster,
  results: secretsIn(namespace),
  noun: "Secret",
  propagation: "Background",
  // The tenant's account can delete its copy so that the Secret loses its owner and stays.
  deadline: 3600,
  isOwn: (metadata) => isCopy(metadata) && isUid.test(metadata.name ?? ""),
  resultOf: secretOf,
  isOurs: isSecretOf,
  describe: ({ metadata: { name = "", resourceVersion = "" } = {} }) => ({
    reason: "Synced",
    message: `Secret ${name} has the declared content`,
    secretName: name,
    resourceVersion,
  }),
});

type Options = Readonly<{
  home: Cluster;
  management: Cluster;
  /** The tenant's namespace in the management cluster. */
  namespace: string;
  /**
   * Seconds after which we remove a deleted object's finalizer, even though the copy might still
   * exist.
   */
  deadline?: number;
  warning?: () => string | undefined;
}> &
  Pick<Side, "leftBehind" | "exceeded">;

export function tenantSide(options: Options): Side {
  const { home, management, namespace, deadline = 3600, ...reports } = options;
  let id: string | undefined;
  return {
    deadline,
    ...reports,
    from: home,
    objects: allSyncSecrets,
    to: management,
    results: syncSecretsIn(namespace),
    noun: "copy",
    finalizer: tenantFinalizer,
    // The API server deletes the Secret of a copy first, and then the copy.
    propagation: "Foreground",
    /**
     * Reads the id of this cluster once. If we are not allowed to read the id, the engine keeps
     * every copy whose object is gone.
     */
    async prepare() {
      const path = "/api/v1/namespaces/kube-system";
      id ??= (await home.get<V1Namespace>(path).catch(() => undefined))?.metadata?.uid;
    },
    referenced: async (object, reference) => await referencedBy(home, object, reference),
    isOwn: (metadata) => isCopy(metadata) && isOfCluster(metadata, id),
    resultOf: (object, content) => copyOf(object, content, namespace, id),
    // The copy's name is our object's UID, so no other object has this name.
    isOurs: () => true,
    isCopy,
    describe,
  };
}

/** Reads the Secret that the object names, if a Role allows it. */
async function referencedBy(
  home: Cluster,
  { metadata, type = "Opaque" }: SyncSecret,
  { name }: SyncSecretReference,
): Promise<Held | string> {
  try {
    const path = `${secretsIn(metadata.namespace ?? "")}/${name}`;
    const secret = await home.get<V1Secret>(path);
    if (secret === undefined) return sentence("reference", `${name} does not exist`);
    const { data = {}, type: its = "Opaque" } = secret;
    return its === type ? { data, type } : sentence("reference", `${name} has type ${its}`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return sentence("reference", `no Role allows to read ${name}`);
  }
}

/**
 * Derives the object's status from the status that the management side wrote to the copy. If the
 * copy's status is about an earlier generation, the object waits.
 */
function describe(copy: LiveCopy): Found {
  const { status, metadata } = copy as unknown as SyncSecret;
  const ready = conditionOf(status, "Ready");
  if (
    ready === undefined ||
    status === undefined ||
    status.observedGeneration !== metadata.generation
  )
    return { reason: "Waiting", message: "the management cluster has the copy, but no Secret yet" };
  const { secretName, resourceVersion } = status;
  return {
    reason: reasons.find((reason) => reason === ready.reason) ?? "Waiting",
    message: ready.message ?? "",
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** The management side's reasons, except Leaving, which the tenant's side sets itself. */
const reasons = ["Synced", "Invalid", "Foreign", "Refused", "Unreachable", "Denied"] as const;
