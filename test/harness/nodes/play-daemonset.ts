/**
 * Plays the DaemonSet controller, the pod garbage collector, and the garbage collector of owned
 * objects against an API without them.
 */
import type { V1DaemonSet, V1ObjectMeta } from "@kubernetes/client-node";
import type { Replacing } from "#kube/client/cluster.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { type DaemonCounts, syncDaemonSet } from "./daemonset-controller.ts";
import { type ModelNode, type ModelPod, type NodesModel, readySince } from "./nodes.ts";
import { hashOf, podFor } from "./objects.ts";
import { deletePod, endPod, lenient } from "./requests.ts";

/** A pod of the model, and its state in the API. */
type Seen = Readonly<{ pod: ModelPod; node: ModelNode; metadata: V1ObjectMeta }>;

/** The objects of one step. `nodeUids`: of the existing Nodes. */
type Objects = Readonly<{
  daemonSet: V1DaemonSet | undefined;
  pods: ReadonlyMap<string, Seen>;
  nodePullSecrets: readonly V1ObjectMeta[];
  nodeUids: ReadonlySet<string>;
}>;

/** Seconds after a Node's deletion until its pods and its owned objects are deleted. */
const collectSeconds = { pods: 40, owned: 5 };

export class DaemonSetPlayer {
  readonly #cluster: Replacing;
  readonly #model: NodesModel;
  /** Uid → when the object's Node was first missed. */
  readonly #orphanedAt = new Map<string, number>();
  #made = 0;
  #reported = "";

  constructor(cluster: Replacing, model: NodesModel) {
    this.#cluster = cluster;
    this.#model = model;
  }

  /**
   * Plays one sync. Deletes all pods if the DaemonSet is gone. Returns true if the sync created or
   * deleted an object.
   */
  async sync({ daemonSet, pods, ...objects }: Objects): Promise<boolean> {
    const isCollected = await this.#collect({ pods, ...objects });
    const isSynced = await this.#syncPods(daemonSet, pods);
    return isCollected || isSynced;
  }

  /** Deletes the pods of Nodes that are gone, and the objects that these Nodes own. */
  async #collect({
    pods,
    nodePullSecrets,
    nodeUids,
  }: Omit<Objects, "daemonSet">): Promise<boolean> {
    const orphanedPods = [...pods.values()].filter(({ node }) => !this.#model.nodes.includes(node));
    const duePods = this.#due(orphanedPods, ({ pod }) => pod.uid, collectSeconds.pods);
    for (const { metadata } of duePods) await endPod(this.#cluster, metadata);
    const orphans = nodePullSecrets.filter(
      ({ ownerReferences: [owner] = [] }) => owner !== undefined && !nodeUids.has(owner.uid),
    );
    const due = this.#due(orphans, ({ uid = "" }) => uid, collectSeconds.owned);
    for (const { name, uid = "" } of due)
      await lenient(this.#cluster.remove(`${collections.nodePullSecrets}/${name}`, uid));
    return duePods.length + due.length > 0;
  }

  #due<T>(orphans: readonly T[], uidOf: (orphan: T) => string, seconds: number): T[] {
    const { now } = this.#model;
    return orphans.filter((orphan) => {
      const uid = uidOf(orphan);
      const since = this.#orphanedAt.get(uid) ?? now;
      this.#orphanedAt.set(uid, since);
      return now - since >= seconds;
    });
  }

  async #syncPods(
    daemonSet: V1DaemonSet | undefined,
    pods: ReadonlyMap<string, Seen>,
  ): Promise<boolean> {
    const remove = async (removed: readonly Seen[]) => {
      for (const { metadata } of removed) await deletePod(this.#cluster, metadata);
    };
    if (daemonSet === undefined) {
      const livePods = [...pods.values()].filter(({ pod }) => pod.deletedAt === undefined);
      await remove(livePods);
      return livePods.length > 0;
    }
    const { minReadySeconds = 0, updateStrategy } = daemonSet.spec ?? {};
    const maxUnavailable = Number(updateStrategy?.rollingUpdate?.maxUnavailable ?? 1);
    const hash = hashOf(daemonSet);
    const { nodes, now } = this.#model;
    const rules = { hash, minReadySeconds, maxUnavailable, ready: readySince };
    const sync = syncDaemonSet(rules, nodes, now);
    for (const { name } of sync.create)
      await this.#cluster.create(collections.pods, podFor(daemonSet, name, String(++this.#made)));
    await remove([...pods.values()].filter(({ pod }) => sync.remove.includes(pod)));
    await this.#report(daemonSet, sync.counts);
    return sync.create.length + sync.remove.length > 0;
  }

  async #report(
    daemonSet: V1DaemonSet,
    { desired, updated, ...counts }: DaemonCounts,
  ): Promise<void> {
    const status = {
      observedGeneration: daemonSet.metadata?.generation,
      currentNumberScheduled: desired,
      desiredNumberScheduled: desired,
      numberMisscheduled: 0,
      numberReady: counts.ready,
      updatedNumberScheduled: updated,
      numberAvailable: counts.available,
      numberUnavailable: desired - counts.available,
    };
    const reported = JSON.stringify([daemonSet.metadata?.uid, status]);
    if (reported === this.#reported) return;
    const body = { ...daemonSet, apiVersion: "apps/v1", kind: "DaemonSet", status };
    await lenient(this.#cluster.replace(`${owned.daemonSet}/status`, body));
    this.#reported = reported;
  }
}
