/**
 * The same content by Cluster API's own controller: a ClusterResourceSet in each Cluster's
 * namespace, written as a template engine writes them.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { pullSecret } from "#test/controller/plane.ts";
import { declareCluster, installAll, startManager } from "#test/fleet/clusterapi.ts";
import type { Home } from "#test/fleet/fleet.ts";
import { put, secrets } from "../testbed/objects.ts";
import { WatchedObjects } from "../observe/watched-objects.ts";
import { type RealGuest, untilReal } from "./clusters.ts";

/** Beside the fleet's own target, so that both can be measured on the same clusters. */
const target = "by-resource-set";
const set = "by-resource-set";

export class ResourceSets implements AsyncDisposable {
  readonly #home: Home;
  readonly #guests: readonly RealGuest[];
  readonly #targets: readonly WatchedObjects<V1Secret>[];
  readonly #manager: Awaited<ReturnType<typeof startManager>>;

  private constructor(
    home: Home,
    guests: readonly RealGuest[],
    manager: Awaited<ReturnType<typeof startManager>>,
  ) {
    this.#home = home;
    this.#guests = guests;
    this.#manager = manager;
    const query = { fieldSelector: `metadata.name=${target}` };
    this.#targets = guests.map(({ api }) => new WatchedObjects<V1Secret>(api, secrets, query));
  }

  /** Starts the controller, and declares these clusters and their ClusterResourceSets. */
  static async start(home: Home, guests: readonly RealGuest[]): Promise<ResourceSets> {
    await installAll(home.cluster);
    const manager = await startManager(home.cluster);
    const sets = new ResourceSets(home, guests, manager);
    for (const { name, cluster } of guests) {
      await declareCluster({ home, guest: cluster, name, labels: { fleet: "bench" } });
      await home.cluster.apply(setIn(name));
    }
    return sets;
  }

  /** Seconds from the first write here until the last cluster has it. */
  async deliver(document: string): Promise<number> {
    const manifest = JSON.stringify(pullSecret(target, document));
    const [since, started] = [Date.now(), performance.now()];
    await Promise.all(this.#guests.map(({ name }) => this.#write(name, manifest)));
    await untilReal(this.#targets, Buffer.from(document).toString("base64"), since);
    return (performance.now() - started) / 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#targets) one[Symbol.dispose]();
    await this.#manager[Symbol.asyncDispose]();
  }

  async #write(namespace: string, manifest: string): Promise<void> {
    await put(this.#home.api, `/api/v1/namespaces/${namespace}/secrets/${set}`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: set, namespace },
      type: "addons.cluster.x-k8s.io/resource-set",
      data: { "manifests.yaml": Buffer.from(manifest).toString("base64") },
    });
  }
}

const setIn = (namespace: string) => ({
  apiVersion: "addons.cluster.x-k8s.io/v1beta2",
  kind: "ClusterResourceSet",
  metadata: { name: set, namespace },
  spec: {
    clusterSelector: { matchLabels: { "cluster.x-k8s.io/cluster-name": namespace } },
    resources: [{ kind: "Secret", name: set }],
    strategy: "Reconcile",
  },
});
