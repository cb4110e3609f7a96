/**
 * Keeps the Role and the RoleBinding in a tenant's namespace that is being deleted until its last
 * SyncSecret is gone. Without them the management side could not remove its finalizers, and the
 * namespace would stay in Terminating for ever.
 */
import type { V1Namespace, V1ObjectMeta } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { managementAccount } from "#contract/sync-names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isHeld } from "../rules/hold.ts";
import { sentence } from "../rules/problems.ts";
import { finalizer } from "./side.ts";

type Owned = Readonly<{ metadata: V1ObjectMeta }>;

const query = { fieldSelector: `metadata.name=${managementAccount}` };

export type Rights = Readonly<{
  /** Collections to watch: they change when somebody deletes the Role or the RoleBinding. */
  watched: readonly Readonly<{ path: string; query: typeof query }>[];
  /**
   * Adds or removes our finalizer on both. `objects`: how many SyncSecrets are in the namespace;
   * undefined where they cannot be listed.
   */
  hold: (objects: number | undefined) => Promise<void>;
}>;

export function rightsIn(cluster: Cluster, namespace: string, log: Logger): Rights {
  const group = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const collections = [`${group}/roles`, `${group}/rolebindings`];
  const paths = collections.map((one) => `${one}/${managementAccount}`);
  let told = false;

  async function hold(objects: number | undefined): Promise<void> {
    const found = await Promise.all(paths.map((path) => cluster.get<Owned>(path)));
    const leaving = found.some((one) => one?.metadata.deletionTimestamp !== undefined);
    const terminating = leaving && (await isTerminating());
    const whole = found.every((one) => one !== undefined);
    const held = isHeld({ objects, whole, leaving, terminating });
    for (const [at, one] of found.entries())
      if (one !== undefined) await write(paths[at] ?? "", one, held);
  }

  async function isTerminating(): Promise<boolean> {
    const found = await cluster.get<V1Namespace>(`/api/v1/namespaces/${namespace}`);
    return found?.metadata?.deletionTimestamp !== undefined;
  }

  /**
   * Changes nothing but the finalizer. The rules of the Role stay the same, so the API server does
   * not ask whether we have the rights that it grants.
   */
  async function write(path: string, object: Owned, held: boolean): Promise<void> {
    const { managedFields: _written, ...metadata } = object.metadata;
    const finalizers = metadata.finalizers ?? [];
    // The API server lets nobody add a finalizer to an object that is being deleted.
    const late = held && metadata.deletionTimestamp !== undefined;
    if (finalizers.includes(finalizer) === held || late) return;
    const others = finalizers.filter((one) => one !== finalizer);
    const wanted = held ? [...others, finalizer] : others;
    await cluster.replace(path, { ...object, metadata: { ...metadata, finalizers: wanted } });
    log.info({ namespace, held }, held ? "its rights are held" : "its rights are let go");
  }

  return {
    watched: collections.map((path) => ({ path, query })),
    async hold(objects) {
      try {
        await hold(objects);
        told = false;
      } catch (error) {
        // The ClusterRole is of a version without this right: serve the namespace all the same.
        if (!(error instanceof ApiError) || error.status !== 403) throw error;
        if (!told) log.warn({ namespace }, sentence("notHeld", namespace));
        told = true;
      }
    },
  };
}
