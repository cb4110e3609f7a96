/**
 * The real cluster of a run, with the product installed. It grows from one node to four, as the
 * measurements need it.
 */
import { type V1DaemonSet, type V1Secret } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import type { DeliverySpec, GlobalPullSecret } from "#api/global-pull-secret.ts";
import { collections } from "#kube/client/paths.ts";
import * as names from "#contract/names.ts";
import { startCluster, type Cluster } from "#test/cluster/cluster.ts";
import type { Node } from "#test/cluster/node.ts";
import { installProduct } from "#test/e2e/product.ts";
import { prepare } from "#test/e2e/prepared.ts";
import { Healthz } from "../observe/healthz.ts";
import { type Budget, daemonSets, replacementName, secrets } from "./objects.ts";
import { WatchedObjects } from "../observe/watched-objects.ts";

/** The default of spec.rollout.probation. */
export const probationSeconds = 5;

/** A node's order and its agent's report. */
type NodePullSecret = Readonly<{
  metadata: Readonly<{ name: string }>;
  spec: Readonly<{ revision: number; attempt: number }>;
  status?: Readonly<{ result: string; attempt: number }>;
}>;

export type TestbedNode = Readonly<{ node: Node; healthz: Healthz }>;

export class Testbed implements Disposable {
  readonly cluster: Cluster;
  readonly api: Api;
  readonly shellImage: string;
  readonly nodes: TestbedNode[] = [];
  readonly object: WatchedObjects<GlobalPullSecret>;
  readonly replacement: WatchedObjects<V1DaemonSet>;
  readonly global: WatchedObjects<V1Secret>;
  readonly nodePullSecrets: WatchedObjects<NodePullSecret>;
  #revision = 0;
  #installed = "";

  private constructor(cluster: Cluster, api: Api, shellImage: string) {
    this.cluster = cluster;
    this.api = api;
    this.shellImage = shellImage;
    const named = (name: string) => ({ fieldSelector: `metadata.name=${name}` });
    this.object = new WatchedObjects(api, collections.globalPullSecrets, {});
    this.replacement = new WatchedObjects(api, daemonSets, named(replacementName));
    this.global = new WatchedObjects(api, secrets, named(names.globalSecretName));
    this.nodePullSecrets = new WatchedObjects(api, collections.nodePullSecrets, {});
  }

  static async start(): Promise<Testbed> {
    // Every node is prepared for a credential provider, so that all modes are measured on the same
    // nodes. In other modes the provider's empty answer costs a pull some milliseconds.
    const cluster = await startCluster({ nodes: 0 });
    await cluster.addNode({ before: prepare });
    const admin = loadKubeConfig(cluster.kubeconfig);
    const image = await cluster.registry.push(
      cluster.kit.images.app,
      "shell:1",
      cluster.registry.publicHost,
    );
    const testbed = new Testbed(
      cluster,
      connect(admin, () => {}),
      image,
    );
    testbed.#watchNodes();
    await testbed.install();
    return testbed;
  }

  /** Adds nodes up to this number. */
  async grow(count: number): Promise<void> {
    while (this.cluster.nodes.length < count) await this.cluster.addNode({ before: prepare });
    this.#watchNodes();
  }

  /**
   * Installs the product (again) with this budget and delivery, and with these flags of the
   * controller. The product's defaults are 10 % and Restart.
   */
  async install(
    maxUnavailable: Budget = "10%",
    delivery: DeliverySpec = { mode: "Restart" },
    ...flags: readonly string[]
  ) {
    const configuration = JSON.stringify([maxUnavailable, delivery, flags]);
    if (this.#installed === configuration) return;
    this.#installed = configuration;
    const settings = { rollout: { maxUnavailable, probation: `${probationSeconds}s` }, delivery };
    await installProduct(this.cluster, {
      args: [
        "--delivery-modes=Restart,Reread,CredentialProvider,Runtime",
        "--containerd-directory=/etc/containerd",
        ...flags,
      ],
      settings,
    });
  }

  /** Returns a different number at each call, for templates and passwords. */
  nextRevision(): number {
    this.#revision += 1;
    return this.#revision;
  }

  [Symbol.dispose](): void {
    for (const watched of [this.object, this.replacement, this.global, this.nodePullSecrets])
      watched[Symbol.dispose]();
    for (const { healthz } of this.nodes) healthz[Symbol.dispose]();
    this.cluster.down();
  }

  #watchNodes(): void {
    for (const node of this.cluster.nodes.slice(this.nodes.length)) {
      this.nodes.push({ node, healthz: new Healthz(this.cluster, node) });
    }
  }
}
