/** Plays the DaemonSet controller and the pod garbage collector against an API without them. */
import type { V1DaemonSet, V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { type DaemonCounts, syncDaemonSet } from "./daemonset-controller.ts";
import { type ModelNode, type ModelPod, type NodesModel, readySince } from "./nodes.ts";
import { hashOf, podFor } from "./objects.ts";
import { deletePod, endPod, lenient } from "./requests.ts";

/** A pod of the model, and its state in the API. */
type Seen = Readonly<{ pod: ModelPod; node: ModelNode; metadata: V1ObjectMeta }>;

export class DaemonSetPlayer {
  readonly #cluster: Cluster;
  readonly #model: NodesModel;
  #made = 0;
  #reported = "";

  constructor(cluster: Cluster, model: NodesModel) {
    this.#cluster = cluster;
    this.#model = model;
  }

  /**
   * Plays one sync. Deletes all pods if the DaemonSet is gone. Returns true if the sync created or
   * deleted a pod of the DaemonSet.
   */
  async sync(
    daemonSet: V1DaemonSet | undefined,
    pods: ReadonlyMap<string, Seen>,
  ): Promise<boolean> {
    for (const { node, metadata } of pods.values())
      if (!this.#model.nodes.includes(node)) await endPod(this.#cluster, metadata);
    if (daemonSet === undefined) {
      const livePods = [...pods.values()].filter(({ pod }) => !pod.ending);
      for (const { metadata } of livePods) await deletePod(this.#cluster, metadata);
      return livePods.length > 0;
    }
    const minReadySeconds = daemonSet.spec?.minReadySeconds ?? 0;
    const rules = { hash: hashOf(daemonSet), minReadySeconds, ready: readySince };
    const { nodes, now } = this.#model;
    const { create, counts } = syncDaemonSet(rules, nodes, now);
    for (const { name } of create)
      await this.#cluster.create(collections.pods, podFor(daemonSet, name, String(++this.#made)));
    await this.#report(daemonSet, counts);
    return create.length > 0;
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
