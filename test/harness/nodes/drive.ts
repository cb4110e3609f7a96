/**
 * Plays the model's nodes against an API. A real API server has a DaemonSet controller: only
 * kubelets are played there, by a watch. For a scripted one the DaemonSet controller is played as
 * well, and everything is read at each step, so that a test's own clock can drive it.
 */
import type {
  V1DaemonSet,
  V1Node,
  V1ObjectMeta,
  V1Pod,
  V1NodeList,
  V1Secret,
} from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { agentLabels, globalSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { agentOf, revisionOf } from "./agent.ts";
import { type DaemonCounts, syncDaemonSet } from "./daemonset-controller.ts";
import {
  type Behaviour,
  type Condition,
  type ModelNode,
  type ModelPod,
  NodesModel,
  type PodState,
  readySince,
  type Texts,
} from "./nodes.ts";
import { hashLabel, hashOf, nodeCondition, nodeObject, podFor, podStatus } from "./objects.ts";

type Options = Readonly<{
  model?: NodesModel;
  /** Milliseconds since 1970. */
  clock?: () => number;
  /** Plays the DaemonSet controller, too. */
  daemonSets?: boolean;
  /** Milliseconds between two steps of nodes where nothing happens. */
  pace?: number;
  /** How long a node's lease lasts; it is renewed four times as often. */
  leaseSeconds?: number;
}>;

/** A start of an agent's pod. `at`: milliseconds since 1970. */
export type PodStart = Readonly<{ node: string; revision: number; at: number }>;

/** What the API has of a pod. */
type Known = { pod: ModelPod; node: ModelNode; metadata: V1ObjectMeta; told: PodState | undefined };

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const agents = { labelSelector: `name=${agentLabels.name}` };
const only = { fieldSelector: `metadata.name=${globalSecretName}` };

/** Milliseconds. No conflict lasts so long, and no test keeps the API from the nodes. */
const longestFailing = 30_000;
/** Requests at a time. */
const parallel = 16;

export class NodesDriver implements AsyncDisposable {
  readonly model: NodesModel;
  /** Every start of an agent's pod, in order. */
  readonly starts: PodStart[] = [];
  /** Most agents that were at work without having been Ready at the same time, revision 0 apart. */
  mostAtOnce = 0;
  /** How many are now. */
  atWork = 0;
  readonly #cluster: Cluster;
  readonly #options: Required<Omit<Options, "model">>;
  readonly #nodes = new Map<string, ModelNode>();
  readonly #told = new Map<ModelNode, Condition>();
  readonly #pods = new Map<string, Known>();
  readonly #renewals = new Map<string, number>();
  readonly #due = new Set<ModelNode>();
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #wake = () => {};
  #version = "";
  #daemonSet: V1DaemonSet | undefined;
  #made = 0;
  #counted = "";
  #broken: unknown;

  constructor(cluster: Cluster, { model = new NodesModel(agentOf()), ...options }: Options = {}) {
    const usual = { clock: Date.now, daemonSets: false, pace: 150, leaseSeconds: 40 };
    this.#options = { ...usual, ...options };
    this.#cluster = cluster;
    this.model = model;
    model.now = this.#options.clock() / 1000;
    model.started = ({ name }, pod) =>
      void this.starts.push({ node: name, revision: revisionOf(pod), at: this.#options.clock() });
  }

  /** Plays by the real clock until it is disposed of. */
  start(): this {
    const { pace, daemonSets } = this.#options;
    this.#loops.push(this.#every(1000, () => this.#renew()));
    if (daemonSets) this.#loops.push(this.#every(pace, () => this.step()));
    else
      this.#loops.push(
        this.#watch<V1Pod>(collections.pods, agents, (pod, gone) => this.#see(pod, gone)),
        this.#watch<V1Secret>(collections.secrets, only, (secret) => this.#mountable(secret)),
        this.#every(0, () => this.#follow()),
      );
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await Promise.all(this.#loops);
    if (this.#broken !== undefined) throw new Error("the nodes failed", { cause: this.#broken });
  }

  /** What agents do from now on, by their node's name and their pod's revision. */
  set behaviour(of: (node: string, revision: number) => Behaviour) {
    this.model.behaviour = ({ name, trouble }, pod) => trouble ?? of(name, revisionOf(pod));
  }

  /** Nodes in the order in which a revision started on them. */
  order(revision: number): string[] {
    return this.starts.filter((start) => start.revision === revision).map(({ node }) => node);
  }

  /** How many nodes have an agent of this revision that was Ready. */
  having(revision: number): number {
    const has = (pod: ModelPod) => pod.wasReady && revisionOf(pod) === revision;
    return this.model.nodes.filter(({ pods }) => pods.some(has)).length;
  }

  /** Adds a Ready Linux node; `object` where it is to be another one. */
  async add(name: string, object?: object): Promise<ModelNode> {
    this.#setClock();
    const node = this.model.join(name);
    await this.#cluster.create(collections.nodes, object ?? nodeObject(name, node.ready));
    this.#told.set(node, node.ready);
    this.#nodes.set(name, node);
    return node;
  }

  async remove(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    // Its pods end at once: the collector of such pods takes a minute.
    if (node !== undefined) this.model.revive(node);
    this.model.leave(name);
    this.#nodes.delete(name);
    const path = `${collections.nodes}/${name}`;
    const found = await this.#cluster.get<V1Node>(path);
    if (found !== undefined) await this.#cluster.remove(path, found.metadata?.uid ?? "");
  }

  /**
   * Leaves these nodes, alive: what a test that failed has added or killed must not fail the next
   * one.
   */
  async reset(names: readonly string[]): Promise<void> {
    for (const name of this.#nodes.keys()) if (!names.includes(name)) await this.remove(name);
    for (const name of this.#nodes.keys()) await this.revive(name);
  }

  /** The kubelet falls silent, and the node controller has noticed. */
  async die(name: string): Promise<void> {
    await this.#change(name, (node) => this.model.die(node));
  }

  async revive(name: string, how?: "reports" | "rebooted"): Promise<void> {
    await this.#change(name, (node) => this.model.revive(node, how));
    await this.#renew();
  }

  /** Everybody's next step, by the clock: DaemonSet controller, kubelets, and what they report. */
  async step(): Promise<void> {
    this.#setClock();
    await this.#read();
    if (this.#options.daemonSets && (await this.#sync())) await this.#read();
    await this.#play(this.model.nodes);
  }

  /** Reads all that is played by, unless nothing was written since the last time. */
  async #read(): Promise<void> {
    const any = await this.#cluster.get<V1NodeList>(`${collections.nodes}?limit=1`);
    const version = any?.metadata?.resourceVersion ?? "";
    if (version === this.#version) return;
    this.#version = version;
    await this.#list();
    this.#mountable(await this.#cluster.get<V1Secret>(owned.global));
    this.#daemonSet = await this.#cluster.get<V1DaemonSet>(owned.daemonSet);
  }

  #setClock(): void {
    this.model.tick(this.#options.clock() / 1000 - this.model.now);
  }

  async #change(name: string, change: (node: ModelNode) => void): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    this.#setClock();
    change(node);
    await this.#report([node]);
  }

  async #list(): Promise<void> {
    const found = new Set<string>();
    await this.#cluster.pages<V1Pod>(collections.pods, agents, (items) => {
      for (const pod of items) {
        found.add(pod.metadata?.uid ?? "");
        this.#see(pod, false);
      }
    });
    for (const [uid, { metadata }] of this.#pods)
      if (!found.has(uid)) this.#see({ metadata: { ...metadata, uid } }, true);
  }

  #mountable(secret: V1Secret | undefined): void {
    const texts = Object.entries(secret?.data ?? {}).map(([key, value]) => [
      key,
      Buffer.from(value, "base64").toString(),
    ]);
    this.model.secret = Object.fromEntries(texts) as Texts;
  }

  #see({ metadata = {}, spec }: V1Pod, gone: boolean): void {
    const { uid = "", annotations = {}, labels, deletionTimestamp } = metadata;
    const known = this.#pods.get(uid) ?? (gone ? undefined : this.#new(metadata, spec?.nodeName));
    if (known === undefined) return;
    const { pod, node } = known;
    if (gone) {
      node.pods = node.pods.filter((one) => one !== pod);
      this.#pods.delete(uid);
      return;
    }
    known.metadata = { ...metadata, managedFields: undefined as never, labels: labels ?? {} };
    if (JSON.stringify(annotations) !== JSON.stringify(pod.annotations))
      pod.annotations = annotations;
    pod.ending = deletionTimestamp !== undefined;
    this.#due.add(node);
    this.#wake();
  }

  /** Pods are known from when they are bound. */
  #new(metadata: V1ObjectMeta, bound: string | undefined): Known | undefined {
    const { uid = "", annotations = {}, labels, creationTimestamp } = metadata;
    const node = this.#nodes.get(bound ?? "");
    if (node === undefined) return undefined;
    const hash = labels?.[hashLabel] ?? "";
    const created = Date.parse(String(creationTimestamp)) / 1000;
    const pod = this.model.place(node, { uid, hash, annotations, created });
    const known = { pod, node, metadata, told: undefined };
    this.#pods.set(uid, known);
    return known;
  }

  /** True if a pod was made or deleted. */
  async #sync(): Promise<boolean> {
    const found = this.#daemonSet;
    const pods = [...this.#pods.values()];
    for (const { node, metadata } of pods)
      if (!this.model.nodes.includes(node)) await this.#end(metadata);
    if (found === undefined) {
      const left = pods.filter(({ pod }) => !pod.ending);
      for (const { metadata } of left) await this.#delete(metadata);
      return left.length > 0;
    }
    const { type, rollingUpdate } = found.spec?.updateStrategy ?? {};
    const rules = {
      hash: hashOf(found),
      strategy: type === "OnDelete" ? ("OnDelete" as const) : ("RollingUpdate" as const),
      maxUnavailable: rollingUpdate?.maxUnavailable ?? 1,
      minReadySeconds: found.spec?.minReadySeconds ?? 0,
      ready: readySince,
    };
    const { create, remove, counts } = syncDaemonSet(rules, this.model.nodes, this.model.now);
    for (const { name } of create)
      await this.#cluster.create(collections.pods, podFor(found, name, String(++this.#made)));
    for (const { pod } of remove) await this.#delete(this.#pods.get(pod.uid)?.metadata);
    await this.#count(found, counts);
    return create.length + remove.length > 0;
  }

  async #count(found: V1DaemonSet, counts: DaemonCounts): Promise<void> {
    const { desired, updated, ready, available } = counts;
    const status = {
      observedGeneration: found.metadata?.generation,
      currentNumberScheduled: desired,
      desiredNumberScheduled: desired,
      numberMisscheduled: 0,
      numberReady: ready,
      updatedNumberScheduled: updated,
      numberAvailable: available,
      numberUnavailable: desired - available,
    };
    const told = JSON.stringify([found.metadata?.uid, status]);
    if (told === this.#counted) return;
    const body = { ...found, apiVersion: "apps/v1", kind: "DaemonSet", status };
    await lenient(this.#cluster.replace(`${owned.daemonSet}/status`, body));
    this.#counted = told;
  }

  /** Nodes to which something has happened, at once; all others at their pace. */
  async #follow(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(() => {
      for (const node of this.model.nodes) this.#due.add(node);
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
    const atWork = this.model.nodes.filter(({ ready, pods }) => ready.is && pods.some(isAtWork));
    this.atWork = atWork.length;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atWork);
    await inParallel(ended, async ({ uid }) => this.#end(this.#pods.get(uid)?.metadata));
    await this.#report(nodes);
  }

  /** Writes what the API does not have yet. */
  async #report(nodes: readonly ModelNode[]): Promise<void> {
    const changed = nodes.filter((node) => this.#told.get(node) !== node.ready);
    await inParallel(changed, (node) => this.#reportNode(node));
    const pods = nodes.flatMap((node) => node.pods.map(({ uid }) => this.#pods.get(uid)));
    const untold = pods.filter((one) => one !== undefined && one.told !== one.pod.state);
    await inParallel(untold as Known[], (known) => this.#reportPod(known));
  }

  async #reportNode(node: ModelNode): Promise<void> {
    const { name, ready } = node;
    const path = `${collections.nodes}/${name}`;
    const found = await this.#cluster.get<V1Node>(path);
    if (found === undefined) return;
    const conditions = [nodeCondition(ready)];
    const body = { ...found, status: { ...found.status, conditions } };
    if (await lenient(this.#cluster.replace(`${path}/status`, body))) this.#told.set(node, ready);
  }

  async #reportPod(known: Known): Promise<void> {
    const { pod, metadata } = known;
    const { state } = pod;
    const path = `${collections.pods}/${metadata.name}/status`;
    const body = { apiVersion: "v1", kind: "Pod", metadata, status: podStatus(pod) };
    const written = await lenient(this.#cluster.replace<V1Pod>(path, body));
    if (!written) return;
    known.told = state;
    const { resourceVersion } = written.metadata ?? {};
    if (resourceVersion !== undefined) known.metadata = { ...known.metadata, resourceVersion };
  }

  async #delete(metadata: V1ObjectMeta | undefined): Promise<void> {
    const { name = "", uid = "" } = metadata ?? {};
    await lenient(this.#cluster.remove(`${collections.pods}/${name}`, uid));
  }

  /**
   * Without a grace period, as a kubelet that has ended the containers. As an eviction, which the
   * API takes for a deletion once the pod is ending.
   */
  async #end({ name = "", namespace = "", uid = "" }: V1ObjectMeta = {}): Promise<void> {
    const deleteOptions = { gracePeriodSeconds: 0, preconditions: { uid } };
    const metadata = { name, namespace };
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions };
    await lenient(this.#cluster.create(`${collections.pods}/${name}/eviction`, eviction));
  }

  async #renew(): Promise<void> {
    const { clock, leaseSeconds } = this.#options;
    const now = clock() / 1000;
    const isDue = ({ name, ready }: ModelNode) =>
      ready.is && (this.#renewals.get(name) ?? 0) <= now;
    await inParallel(this.model.nodes.filter(isDue), async ({ name }) => {
      const spec = {
        holderIdentity: name,
        leaseDurationSeconds: leaseSeconds,
        renewTime: new Date(clock()).toISOString().replace("Z", "000Z"),
      };
      const metadata = { name, namespace: "kube-node-lease" };
      const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
      await this.#cluster.apply(`${leases}/${name}`, lease, { manager: "kubelet", force: true });
      // Spread, so that thousands of nodes are not renewed in the same second.
      this.#renewals.set(name, now + (leaseSeconds / 4) * (0.5 + Math.random() / 2));
    });
  }

  /** The next turn sees what this one missed, unless none does. */
  async #every(milliseconds: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    let failing: number | undefined;
    while (!signal.aborted) {
      let pause = milliseconds;
      try {
        await work();
        failing = undefined;
      } catch (error) {
        failing ??= performance.now();
        if (performance.now() - failing > longestFailing) this.#broken = error;
        pause = Math.max(pause, 150);
      }
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  async #watch<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    take: (object: T, gone: boolean) => void,
  ): Promise<void> {
    const { signal } = this.#stop;
    const asked = { ...query, allowWatchBookmarks: "true" };
    const hear = (line: string) => {
      const { type, object } = JSON.parse(line) as { type: string; object: T };
      if (type === "ERROR") throw new Error("the watch is too old");
      if (type !== "BOOKMARK") take(object, type === "DELETED");
    };
    await this.#every(500, async () => {
      // Without a resourceVersion a watch begins with what is there, but not with what is gone.
      await this.#list();
      await this.#cluster.stream(path, asked, signal, hear).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    });
  }
}

const isAtWork = (pod: ModelPod) =>
  !pod.ending && pod.mounted !== undefined && !pod.wasReady && revisionOf(pod) > 0;

/** Undefined if the object is gone or somebody else has written it: the next step looks again. */
async function lenient<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 409))
      return undefined;
    throw error;
  }
}

/** At most 16 at a time. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const one = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, one));
}
