/**
 * For tests: an API server in memory, nodes whose agents answer an order within a second, and the
 * controller's steps, on a clock that the test moves.
 */
import assert from "node:assert/strict";
import type { KubernetesObject, V1DaemonSet, V1Pod, V1Secret } from "@kubernetes/client-node";
import { agentContainer, agentName } from "#contract/names.ts";
import type { Result } from "#contract/order.ts";
import { agent } from "#controller/objects/agent.fixture.ts";
import { annotations } from "#controller/objects/annotations.ts";
import { contentDigest, readPublished } from "#controller/objects/global-secret.ts";
import { readState } from "#controller/objects/state.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import { observe } from "#controller/sources/snapshot.ts";
import { type RemovalContext, unchangedClock } from "#controller/withdrawal/withdrawal.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, owned, type OwnedName } from "#kube/client/paths.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { install } from "#test/harness/api/installed.ts";
import { Store } from "#test/harness/api/store.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import {
  agentsSelector,
  keepNode,
  keepObject,
  keepPod,
  type NodeObject,
  objectPath,
} from "./objects.ts";
import { Guard } from "./guard.ts";
import { Repairs } from "./write.ts";
import { readRollout } from "./observe.ts";
import { takeStep, type Progress } from "./step.ts";

/**
 * How a node's agent reacts to an order. `away`: the node no longer answers. `podless`: it has no
 * agent.
 */
export type Behaviour = "proves" | "fails" | "refuses" | "ignores" | "away" | "podless";

const born = Date.parse("2026-01-01T00:00:00Z");
const stamp = (time: number): string => new Date(time).toISOString().replace(".000Z", "Z");

/** Content with one entry, which the additional Secret supplies. */
export const content = (pair: string, changes: Partial<WantedContent> = {}): WantedContent => ({
  document: JSON.stringify({ auths: { "quay.io": { auth: btoa(pair) } } }),
  sources: '{"quay.io":"additional"}',
  intent: "apply",
  entries: 1,
  fromAdditional: 1,
  ...changes,
});

export const [firstContent, two] = [content("u:1"), content("u:2")] as const;

/** The content of a withdrawal. */
export const nothingLeft = content("", {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "release",
});

/** Seconds until the DaemonSet controller counts a new pod as available. */
const availableSeconds = 30;

export class World {
  seconds = 0;
  readonly api = new FakeApi(new Store(() => new Date(this.now)));
  readonly cluster = directly(this.api, fieldManager);
  readonly nodes = new Map<string, Behaviour>();
  /** Nodes whose agents' pods remain when the DaemonSet is gone. */
  readonly stuck = new Set<string>();
  /** What the controller watches. A test can delay one of them. */
  readonly informers = {
    pods: new CollectionInformer(keepPod),
    objects: new CollectionInformer(keepObject),
    nodes: new CollectionInformer(keepNode),
  };
  readonly #kubelets = directly(this.api, "kubelet");
  #names = 0;
  readonly remover: RemovalContext = {
    cluster: this.cluster,
    agent,
    policy: policyWith({ maxUnavailable: 1 }, { forgetAfterSeconds: 3600 }),
    retry: "",
    admitted: new Admitted(() => new Date(this.now)),
    ...this.informers,
    repairs: new Repairs(),
    guard: new Guard(),
    ended: { revision: undefined },
    times: () => ({ steady: this.seconds, api: this.now / 1000 }),
    now: () => new Date(this.now),
    unchangedSeconds: unchangedClock(() => this.seconds),
  };

  static async of(nodes: Readonly<Record<string, Behaviour>>): Promise<World> {
    const world = new World();
    install(world.api);
    for (const [name, does] of Object.entries(nodes)) await world.join(name, does);
    return world;
  }

  get now(): number {
    return born + this.seconds * 1000;
  }

  async join(name: string, does: Behaviour = "proves"): Promise<void> {
    this.nodes.set(name, does);
    const metadata = { name, labels: { "kubernetes.io/os": "linux" } };
    await this.#kubelets.create(collections.nodes, { metadata });
  }

  /** Deletes a Node, and with it its pod and its NodePullSecret. */
  leave(name: string): void {
    this.nodes.delete(name);
    this.delete(`${collections.nodes}/${name}`);
    this.delete(objectPath(name));
    for (const pod of this.pods) if (pod.spec?.nodeName === name) this.#drop(pod);
  }

  /** Deletes an object, like an administrator. */
  delete(path: string): void {
    this.api.answer({ method: "DELETE", path });
  }

  /** Writes fields of an object, like an administrator. */
  edit(path: string, body: object): void {
    const type = "application/merge-patch+json";
    const query = { fieldManager: "kubectl" };
    assert.equal(this.api.answer({ method: "PATCH", path, query, body, type }).status, 200);
  }

  /** Starts another controller, which knows only what the API server has. */
  restart(): void {
    Object.assign(this.remover, { repairs: new Repairs(), ended: { revision: undefined } });
  }

  /** Moves the clock, lets the nodes act, and takes a step. */
  async step(target: WantedContent): Promise<Progress> {
    await this.show();
    return takeStep(this.remover, await observe(this.cluster, undefined), target);
  }

  /** Takes one step a second until the condition holds. Fails after ten minutes. */
  async until(target: WantedContent, isSo: (progress: Progress) => boolean): Promise<Progress> {
    for (let steps = 0; steps < 600; steps += 1) {
      const progress = await this.step(target);
      if (isSo(progress)) return progress;
    }
    throw new Error(`the condition never held: ${JSON.stringify(await this.step(target))}`);
  }

  /** Moves the clock, lets the nodes act, and shows the cluster to the informers. */
  async show(): Promise<void> {
    this.seconds += 1;
    await this.#act();
    this.#list(this.informers.pods, collections.pods, { labelSelector: agentsSelector });
    this.#list(this.informers.objects, collections.nodePullSecrets);
    this.#list(this.informers.nodes, collections.nodes);
  }

  #list(
    informer: Pick<CollectionInformer<unknown>, "begins" | "page" | "listed">,
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): void {
    informer.begins();
    informer.page(this.#items(path, query));
    informer.listed(this.api.store.version);
  }

  #items<T extends KubernetesObject>(
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): readonly T[] {
    const answer = this.api.answer({ method: "GET", path, query });
    return "body" in answer ? (answer.body as { items: T[] }).items : [];
  }

  get pods(): readonly V1Pod[] {
    return this.#items(collections.pods);
  }

  /** The node's NodePullSecret. */
  object(node: string): NodeObject | undefined {
    const stored = this.api.object<KubernetesObject>(objectPath(node));
    return stored && keepObject(stored);
  }

  /** The names of the NodePullSecrets that exist. */
  get objects(): string[] {
    return [...this.nodes.keys()].filter((node) => this.object(node) !== undefined);
  }

  /** The revision of each node's order. */
  get asked(): Record<string, number | undefined> {
    return this.#ofNodes((node) => this.object(node)?.order?.revision);
  }

  /** Result and revision of each node's report. */
  get reports(): Record<string, string | undefined> {
    return this.#ofNodes((node) => {
      const { result, revision } = this.object(node)?.report ?? {};
      return result && `${result} ${revision}`;
    });
  }

  #ofNodes<T>(value: (node: string) => T): Record<string, T> {
    return Object.fromEntries([...this.nodes.keys()].map((node) => [node, value(node)]));
  }

  get published() {
    return readPublished(this.api.object<V1Secret>(owned.global));
  }

  get state() {
    return readRollout(readState(this.api.object<V1Secret>(owned.state)).rollout);
  }

  get daemonSet(): V1DaemonSet | undefined {
    return this.api.object<V1DaemonSet>(owned.daemonSet);
  }

  /**
   * The controller's writes so far, by the name of the object, or of the Node for NodePullSecrets.
   * A deletion has a minus sign in front.
   */
  get writes(): string[] {
    const paths = new Map(Object.entries(owned).map(([name, path]) => [path, name as OwnedName]));
    return this.api.asked
      .filter(
        ({ userAgent, verb, query, status }) =>
          userAgent === fieldManager &&
          verb !== "get" &&
          verb !== "list" &&
          query["dryRun"] === undefined &&
          status < 300,
      )
      .map(({ verb, resource, name, body }) => {
        const plural = resource.split("/").at(-1) ?? "";
        const path = [...paths.keys()].find((candidate) =>
          candidate.endsWith(`/${plural}/${name}`),
        );
        const { metadata } = { ...body } as KubernetesObject;
        const short =
          path === undefined ? name || (metadata?.name ?? "") : (paths.get(path) ?? name);
        return verb === "delete" ? `-${short}` : short;
      });
  }

  async #act(): Promise<void> {
    const { daemonSet } = this;
    const living = new Set<string>();
    for (const pod of this.pods) {
      const node = pod.spec?.nodeName ?? "";
      const isLeft = daemonSet === undefined && !this.stuck.has(node);
      if (isLeft || this.nodes.get(node) === "podless") this.#drop(pod);
      else {
        living.add(node);
        await this.#answer(pod, node);
      }
    }
    if (daemonSet === undefined) return;
    this.#upgrade(daemonSet, living);
    for (const [node, does] of this.nodes)
      if (!living.has(node) && does !== "podless") await this.#start(daemonSet, node);
    const count = this.nodes.size;
    const { resourceVersion = "", uid = "" } = this.daemonSet?.metadata ?? {};
    await this.#kubelets.patch(`${owned.daemonSet}/status`, {
      metadata: { uid, resourceVersion },
      status: { desiredNumberScheduled: count, numberAvailable: count },
    });
  }

  /** Deletes pods of other templates, as the rolling update allows. */
  #upgrade({ spec }: V1DaemonSet, living: Set<string>): void {
    const { [annotations.template]: template } = spec?.template.metadata?.annotations ?? {};
    const age = ({ metadata }: V1Pod) =>
      (this.now - Date.parse(String(metadata?.creationTimestamp))) / 1000;
    const { pods } = this;
    const young = pods.filter((pod) => age(pod) < availableSeconds).length;
    const free = Number(spec?.updateStrategy?.rollingUpdate?.maxUnavailable) - young;
    const isOther = ({ metadata }: V1Pod) =>
      metadata?.annotations?.[annotations.template] !== template;
    for (const pod of pods.filter(isOther).slice(0, Math.max(0, free))) {
      this.#drop(pod);
      living.delete(pod.spec?.nodeName ?? "");
    }
  }

  async #start({ spec }: V1DaemonSet, node: string): Promise<void> {
    const ownerReferences = [
      { apiVersion: "apps/v1", kind: "DaemonSet", name: agentName, uid: "d", controller: true },
    ];
    this.#names += 1;
    const metadata = {
      ...spec?.template.metadata,
      name: `pod-of-${node}-${this.#names}`,
      ownerReferences,
    };
    const pod = await this.#kubelets.create<V1Pod>(collections.pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: { nodeName: node, containers: [{ name: agentContainer }] },
    });
    await this.#setReady(pod, "True");
  }

  async #answer(pod: V1Pod, node: string): Promise<void> {
    const does = this.nodes.get(node) ?? "away";
    await this.#setReady(pod, does === "away" ? "False" : "True");
    const object = this.object(node);
    if (object === undefined || does === "away" || does === "ignores") return;
    const { published } = this;
    if (published?.intent === "release") {
      const { revision } = published;
      const content = { revision, digest: contentDigest(published) };
      return this.#report(node, "Removed", { ...content, attempt: object.order?.attempt ?? 0 });
    }
    const { order, report } = object;
    if (order !== undefined && order.attempt !== report?.attempt)
      await this.#report(node, results[does], order);
  }

  async #report(node: string, result: Result, content: object): Promise<void> {
    const { uid = "", resourceVersion = "", report } = this.object(node) ?? {};
    const { revision, digest, attempt } = content as NonNullable<NodeObject["order"]>;
    if (report?.revision === revision && report.attempt === attempt) return;
    const time = stamp(this.now);
    const answer = { code: "GPS200", message: "an answer", version: "1", since: time, time };
    const mode = this.published?.mode ?? "Restart";
    await this.#kubelets.patch(`${objectPath(node)}/status`, {
      metadata: { uid, resourceVersion },
      status: { revision, digest, attempt, result, mode, ...answer },
    });
  }

  /** If the kubelet does not answer, only the condition Ready changes. */
  async #setReady({ metadata, status }: V1Pod, ready: "True" | "False"): Promise<void> {
    const before = status?.conditions?.find(({ type }) => type === "Ready");
    if (before?.status === ready) return;
    const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
    const lastTransitionTime = stamp(this.now);
    await this.#kubelets.patch(`${collections.pods}/${name}/status`, {
      metadata: { uid, resourceVersion },
      status: {
        conditions: [
          { type: "ContainersReady", status: "True", lastTransitionTime },
          { type: "Ready", status: ready, lastTransitionTime },
        ],
        containerStatuses: [{ name: agentContainer, ready: true, state: { running: {} } }],
      },
    });
  }

  #drop({ metadata }: V1Pod): void {
    const path = `${collections.pods}/${metadata?.name}`;
    this.api.answer({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
  }
}

/** Every node has this report of the published revision. */
export function allReport(world: World, result: string): void {
  const expected = `${result} ${world.published?.revision}`;
  for (const [node, report] of Object.entries(world.reports)) assert.equal(report, expected, node);
}

/** How an agent answers an order. */
const results: Readonly<Record<Behaviour, Result>> = {
  proves: "Proved",
  fails: "Failed",
  refuses: "Refused",
  ignores: "Proved",
  away: "Proved",
  podless: "Proved",
};

/** The published content is served, and every node has proved it. */
export const isServed = ({ view, served, revision }: Progress): boolean =>
  view?.phase === "done" && view.pending === "no" && served === revision;

/** Returns a cluster of three nodes that have the content `firstContent`. */
export async function deployed(): Promise<World> {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  await world.until(firstContent, isServed);
  return world;
}
