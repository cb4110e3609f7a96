/**
 * Plays the model's nodes against an API. A real cluster has a DaemonSet controller, therefore the
 * driver plays only kubelets there, and follows a watch. For a fake API server, the driver also
 * plays the DaemonSet controller, and reads everything at each step, so that a test's fake clock
 * can set the pace.
 */
import type {
  V1DaemonSet,
  V1Node,
  V1ObjectMeta,
  V1Pod,
  V1NodeList,
  V1Secret,
} from "@kubernetes/client-node";
import { agentLabels, globalSecretName, secretKeys, servedKeys } from "#contract/names.ts";
import { readOrder } from "#contract/order.ts";
import { isDeepStrictEqual } from "node:util";
import type { Query, Replacing } from "#kube/client/cluster.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { agent, isAtWork } from "./agent.ts";
import {
  type Behaviour,
  type Condition,
  isRunning,
  type ModelNode,
  type ModelPod,
  NodesModel,
  type PodState,
  type Texts,
} from "./nodes.ts";
import { hashLabel, nodeCondition, nodeObject, podStatus, statusOf } from "./objects.ts";
import { DaemonSetPlayer } from "./play-daemonset.ts";
import { endPod, inParallel, lenient, repeat, watch } from "./requests.ts";

type Options = Readonly<{
  model?: NodesModel;
  /** Milliseconds since 1970. */
  clock?: () => number;
  /** Also plays the DaemonSet controller. */
  daemonSets?: boolean;
  /** Milliseconds between two steps of nodes on which nothing happens. */
  pace?: number;
  /**
   * The duration of a node's lease. In this time the driver renews the lease at least four times.
   */
  leaseSeconds?: number;
}>;

/** Records that a node's agent begins with a revision. `at`: milliseconds since 1970. */
export type AgentStart = Readonly<{ node: string; revision: number; at: number }>;

/** The API's view of a pod. */
type Known = {
  pod: ModelPod;
  node: ModelNode;
  metadata: V1ObjectMeta;
  reported: PodState | undefined;
};

/** A NodePullSecret. `status`: as the API has it, as far as this driver knows. */
type NodePullSecret = Readonly<{ metadata: V1ObjectMeta; spec?: unknown; status?: object }>;

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/** A collection, and a selector of its objects. */
type Source = readonly [string, Query];
const pods: Source = [collections.pods, { labelSelector: `name=${agentLabels.name}` }];
const objects: Source = [collections.nodePullSecrets, {}];
const secret: Source = [
  collections.secrets,
  { fieldSelector: `metadata.name=${globalSecretName}` },
];

export class NodesDriver implements AsyncDisposable {
  readonly model: NodesModel;
  readonly starts: AgentStart[] = [];
  /** The highest number of nodes that had unanswered orders at the same time. */
  mostAtOnce = 0;
  /** The number of nodes that have an unanswered order now. */
  atWork = 0;
  readonly #cluster: Replacing;
  readonly #options: Required<Omit<Options, "model">>;
  readonly #nodes = new Map<string, ModelNode>();
  readonly #reported = new Map<ModelNode, Condition>();
  readonly #pods = new Map<string, Known>();
  /** Name → the node's NodePullSecret. */
  readonly #objects = new Map<string, NodePullSecret>();
  readonly #nodeUids = new Set<string>();
  readonly #renewals = new Map<string, number>();
  readonly #due = new Set<ModelNode>();
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #wake = () => {};
  #version = "";
  #daemonSet: V1DaemonSet | undefined;
  readonly #controller: DaemonSetPlayer;

  constructor(cluster: Replacing, { model = new NodesModel(agent), ...options }: Options = {}) {
    const usual = { clock: Date.now, daemonSets: false, pace: 150, leaseSeconds: 40 };
    this.#options = { ...usual, ...options };
    this.#cluster = cluster;
    this.#controller = new DaemonSetPlayer(cluster, model);
    this.model = model;
    model.now = this.#options.clock() / 1000;
    model.began = ({ name }, revision) =>
      void this.starts.push({ node: name, revision, at: this.#options.clock() });
  }

  /** Plays by the real clock until you dispose of the driver. */
  start(): this {
    const { pace, daemonSets } = this.#options;
    const { signal } = this.#stop;
    const every = (milliseconds: number, work: () => Promise<void>) => {
      const loop = repeat(milliseconds, signal, work);
      // Only the caller that disposes of the driver gets the loop's error.
      loop.catch(() => {});
      this.#loops.push(loop);
    };
    every(1000, () => this.#renew());
    if (daemonSets) every(pace, () => this.step());
    else {
      // A watch does not report objects that were deleted before it began.
      every(500, async () => {
        await this.#list(pods, this.#pods, this.#seePod);
        await watch(this.#cluster, pods, signal, this.#seePod);
      });
      every(500, async () => {
        await this.#list(objects, this.#objects, this.#seeObject);
        await watch(this.#cluster, objects, signal, this.#seeObject);
      });
      every(500, () =>
        watch<V1Secret>(this.#cluster, secret, signal, (globalSecret, gone) =>
          this.#setSecret(gone ? undefined : globalSecret),
        ),
      );
      every(0, () => this.#follow());
    }
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await Promise.all(this.#loops);
  }

  /**
   * Sets the behaviour of agents from now on, by the name of the node and the revision of its
   * order. The revision is 0 if the node has no order.
   */
  set behaviour(of: (node: string, revision: number) => Behaviour) {
    this.model.behaviour = ({ name, trouble, order }) => trouble ?? of(name, order?.revision ?? 0);
  }

  /** The nodes whose agents have begun with this revision, in this order. */
  order(revision: number): string[] {
    return this.starts.filter((start) => start.revision === revision).map(({ node }) => node);
  }

  /** Adds a Ready Linux node; `object` overrides the default Node. */
  async add(name: string, object?: object): Promise<ModelNode> {
    this.#setClock();
    const node = this.model.join(name);
    // Registers the node before it creates the Node, because the node's pod can appear before the
    // API server answers.
    this.#reported.set(node, node.ready);
    this.#nodes.set(name, node);
    const body = object ?? nodeObject(name, node.ready);
    const { metadata } = await this.#cluster.create<V1Node>(collections.nodes, body);
    this.#nodeUids.add(metadata?.uid ?? "");
    return node;
  }

  /**
   * Deletes the Node. Its kubelet still ends its pods, unless the machine is silent. Otherwise the
   * pod garbage collector ends them after 40 to 60 s.
   */
  async remove(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node?.isSilent === false) this.model.revive(node);
    this.model.leave(name);
    this.#nodes.delete(name);
    const path = `${collections.nodes}/${name}`;
    const apiNode = await this.#cluster.get<V1Node>(path);
    if (apiNode === undefined) return;
    this.#nodeUids.delete(apiNode.metadata?.uid ?? "");
    await this.#cluster.remove(path, apiNode.metadata?.uid ?? "");
  }

  /**
   * Removes all nodes except these, and revives these, so that nodes that a failed test added or
   * killed do not break the next test.
   */
  async reset(names: readonly string[]): Promise<void> {
    for (const name of this.#nodes.keys()) if (!names.includes(name)) await this.remove(name);
    for (const name of this.#nodes.keys()) await this.revive(name);
  }

  /** Removes everything of ours from the nodes, as if all nodes were new. */
  forget(): void {
    for (const node of this.model.nodes)
      Object.assign(node, {
        applied: undefined,
        journal: undefined,
        restarts: [],
        report: undefined,
      });
    this.starts.length = 0;
    this.mostAtOnce = 0;
  }

  /** Silences the node's kubelet, and reports the node as Unknown, as the node controller does. */
  async die(name: string): Promise<void> {
    await this.#change(name, (node) => this.model.die(node));
  }

  /** Stops the node's machine. The node controller must notice that by itself. */
  silence(name: string): void {
    this.#existing(name).isSilent = true;
  }

  async revive(name: string): Promise<void> {
    // The node controller can have changed the conditions meanwhile, so reports them again.
    this.#reported.delete(this.#existing(name));
    for (const view of this.#pods.values()) if (view.node.name === name) view.reported = undefined;
    await this.#change(name, (node) => this.model.revive(node));
    await this.#renew();
  }

  /**
   * Plays the next step at the clock's time: the DaemonSet controller and the garbage collectors,
   * the kubelets, and their reports.
   */
  async step(): Promise<void> {
    this.#setClock();
    await this.#read();
    const isChanged =
      this.#options.daemonSets &&
      (await this.#controller.sync({
        daemonSet: this.#daemonSet,
        pods: this.#pods,
        nodePullSecrets: [...this.#objects.values()].map(({ metadata }) => metadata),
        nodeUids: this.#nodeUids,
      }));
    if (isChanged) await this.#read();
    await this.#play(this.model.nodes);
  }

  /** Reads the objects again, unless nothing was written since the last time. */
  async #read(): Promise<void> {
    const any = await this.#cluster.get<V1NodeList>(`${collections.nodes}?limit=1`);
    const version = any?.metadata?.resourceVersion ?? "";
    if (version === this.#version) return;
    this.#version = version;
    await this.#list(pods, this.#pods, this.#seePod);
    await this.#list(objects, this.#objects, this.#seeObject);
    this.#setSecret(await this.#cluster.get<V1Secret>(owned.global));
    this.#daemonSet = await this.#cluster.get<V1DaemonSet>(owned.daemonSet);
  }

  #setClock(): void {
    this.model.tick(this.#options.clock() / 1000 - this.model.now);
  }

  #existing(name: string): ModelNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  async #change(name: string, change: (node: ModelNode) => void): Promise<void> {
    const node = this.#existing(name);
    this.#setClock();
    change(node);
    await this.#report([node]);
  }

  /** Reads a collection, and also finds the objects that are gone. */
  async #list<T extends Readonly<{ metadata?: V1ObjectMeta }>>(
    source: Source,
    views: ReadonlyMap<string, Readonly<{ metadata: V1ObjectMeta }>>,
    see: (object: T, gone: boolean) => void,
  ): Promise<void> {
    const uids = new Set<string | undefined>();
    await this.#cluster.pages<T>(...source, (items) => {
      for (const object of items) {
        uids.add(object.metadata?.uid);
        see(object, false);
      }
    });
    for (const { metadata } of views.values())
      if (!uids.has(metadata.uid)) see({ metadata } as T, true);
  }

  /** Gives the node's agent the order in its NodePullSecret. */
  #seeObject = (object: NodePullSecret, gone: boolean): void => {
    const { name = "" } = object.metadata;
    if (gone) this.#objects.delete(name);
    else this.#objects.set(name, object);
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    node.order = gone ? undefined : readOrder(object.spec);
    this.#due.add(node);
    this.#wake();
  };

  #setSecret(secret: V1Secret | undefined): void {
    const texts = Object.entries(secret?.data ?? {}).map(([key, value]) => [
      key,
      Buffer.from(value, "base64").toString(isSalt(key) ? "latin1" : "utf8"),
    ]);
    this.model.secret = Object.fromEntries(texts) as Texts;
    for (const node of this.model.nodes) this.#due.add(node);
    this.#wake();
  }

  #seePod = ({ metadata = {}, spec }: V1Pod, gone: boolean): void => {
    const { uid = "", deletionTimestamp } = metadata;
    const view = this.#pods.get(uid) ?? (gone ? undefined : this.#new(metadata, spec?.nodeName));
    if (view === undefined) return;
    const { pod, node } = view;
    if (gone) {
      node.pods = node.pods.filter((other) => other !== pod);
      this.#pods.delete(uid);
      return;
    }
    view.metadata = metadata;
    delete metadata.managedFields;
    if (deletionTimestamp !== undefined) pod.deletedAt ??= this.#options.clock() / 1000;
    this.#due.add(node);
    this.#wake();
  };

  /** The driver ignores a pod until the pod is bound. */
  #new(metadata: V1ObjectMeta, bound: string | undefined): Known | undefined {
    const { uid = "", labels, creationTimestamp } = metadata;
    const node = this.#nodes.get(bound ?? "");
    if (node === undefined) return undefined;
    const hash = labels?.[hashLabel] ?? "";
    const created = Date.parse(String(creationTimestamp)) / 1000;
    const pod = this.model.place(node, { uid, hash, created });
    const view = { pod, node, metadata, reported: undefined };
    this.#pods.set(uid, view);
    return view;
  }

  /** Plays a node at once after a change of its objects. Plays all other nodes every `pace`. */
  async #follow(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(() => {
      for (const node of this.model.nodes) this.#due.add(node);
      // The kubelet of a removed node still ends its pods.
      for (const { node, pod } of this.#pods.values())
        if (pod.deletedAt !== undefined) this.#due.add(node);
      resolve();
    }, this.#options.pace);
    if (this.#due.size === 0) await promise;
    clearTimeout(timer);
    const due = [...this.#due];
    this.#due.clear();
    this.#setClock();
    await this.#play(due);
  }

  async #play(nodes: readonly ModelNode[]): Promise<void> {
    const ended = nodes.flatMap((node) => this.model.kubelet(node));
    this.atWork = this.model.nodes.filter((node) => isAtWork(node)).length;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atWork);
    await inParallel(ended, ({ uid }) =>
      endPod(this.#cluster, this.#pods.get(uid)?.metadata ?? {}),
    );
    await this.#report(nodes);
  }

  /** Writes all changes of nodes and pods that the API does not have yet. */
  async #report(nodes: readonly ModelNode[]): Promise<void> {
    const changed = nodes.filter((node) => this.#reported.get(node) !== node.ready);
    await inParallel(changed, (node) => this.#reportNode(node));
    const pods = nodes.flatMap((node) => node.pods.map(({ uid }) => this.#pods.get(uid)));
    const unreported = pods.filter(
      (view) => view !== undefined && view.reported !== view.pod.state,
    );
    await inParallel(unreported as Known[], (view) => this.#reportPod(view));
    await inParallel(nodes.filter(isRunning), (node) => this.#reportResult(node));
  }

  /** Writes the agent's report into the status of the node's NodePullSecret. */
  async #reportResult({ name, report }: ModelNode): Promise<void> {
    const object = this.#objects.get(name);
    if (object === undefined || report === undefined) return;
    const status = statusOf(report);
    if (isDeepStrictEqual(object.status, status)) return;
    const kind = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "NodePullSecret" };
    const body = { ...kind, metadata: { name }, status };
    const path = `${collections.nodePullSecrets}/${name}/status`;
    if (await lenient(this.#cluster.apply(path, body, { manager: "agent", force: true })))
      this.#objects.set(name, { ...object, status });
  }

  async #reportNode(node: ModelNode): Promise<void> {
    const { name, ready } = node;
    const path = `${collections.nodes}/${name}`;
    const apiNode = await this.#cluster.get<V1Node>(path);
    if (apiNode === undefined) return;
    const conditions = [nodeCondition(ready)];
    const body = { ...apiNode, status: { ...apiNode.status, conditions } };
    if (await lenient(this.#cluster.replace(`${path}/status`, body)))
      this.#reported.set(node, ready);
  }

  async #reportPod(view: Known): Promise<void> {
    const { pod, metadata } = view;
    const { state } = pod;
    const path = `${collections.pods}/${metadata.name}/status`;
    const body = { apiVersion: "v1", kind: "Pod", metadata, status: podStatus(pod) };
    const written = await lenient(this.#cluster.replace<V1Pod>(path, body));
    if (!written) return;
    view.reported = state;
    const { resourceVersion } = written.metadata ?? {};
    if (resourceVersion !== undefined) view.metadata = { ...view.metadata, resourceVersion };
  }

  async #renew(): Promise<void> {
    const { clock, leaseSeconds } = this.#options;
    const now = clock() / 1000;
    const isDue = (node: ModelNode) =>
      isRunning(node) && (this.#renewals.get(node.name) ?? 0) <= now;
    await inParallel(this.model.nodes.filter(isDue), async ({ name }) => {
      const spec = {
        holderIdentity: name,
        leaseDurationSeconds: leaseSeconds,
        renewTime: new Date(clock()).toISOString().replace("Z", "000Z"),
      };
      const metadata = { name, namespace: "kube-node-lease" };
      const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
      await this.#cluster.apply(`${leases}/${name}`, lease, { manager: "kubelet", force: true });
      // Spreads the renewals, so that thousands of leases are not renewed in the same second.
      this.#renewals.set(name, now + (leaseSeconds / 4) * (0.5 + (this.#renewals.size % 8) / 16));
    });
  }
}

/** A salt is the only value in the Secret that is not text. */
const isSalt = (key: string): boolean => key === secretKeys.salt || key === servedKeys.salt;
