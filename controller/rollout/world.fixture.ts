/**
 * For tests: an API server in memory, nodes whose agents answer a grant within a second, and the
 * controller's steps, on a clock that the test moves.
 */
import assert from "node:assert/strict";
import type { V1DaemonSet, V1Pod, V1Secret } from "@kubernetes/client-node";
import { grantOf, keyOf } from "#contract/grant.ts";
import { agentContainer, agentName } from "#contract/names.ts";
import { messageOf, type MessageKind } from "#contract/termination-message.ts";
import { noMemory } from "./facts.ts";
import { agent } from "#controller/objects/agent.fixture.ts";
import { readPublished } from "#controller/objects/global-secret.ts";
import { readState } from "#controller/objects/state.ts";
import { noRequests } from "#controller/policy/policy-in-force.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import { observe } from "#controller/sources/snapshot.ts";
import { type RemovalContext, unchangedClock } from "#controller/withdrawal/withdrawal.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, owned, type OwnedName } from "#kube/client/paths.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Store } from "#test/harness/api/store.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { NodeListTimer } from "./nodes.ts";
import { agentsSelector, keepPod, type AgentPod } from "./pods.ts";
import { Repairs } from "./write.ts";
import { readRollout } from "./observe.ts";
import { takeStep, type Progress } from "./step.ts";

/**
 * How a node's agent reacts to a grant. `away`: the node no longer answers. `podless`: it has no
 * agent.
 */
export type Behaviour = "proves" | "fails" | "ignores" | "away" | "podless";

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

export class World {
  seconds = 0;
  readonly api = new FakeApi(new Store(() => new Date(this.now)));
  readonly cluster = directly(this.api, fieldManager);
  readonly nodes = new Map<string, Behaviour>();
  /** Nodes whose agents' pods remain when the DaemonSet is gone. */
  readonly stuck = new Set<string>();
  readonly #kubelets = directly(this.api, "kubelet");
  readonly #pods = new CollectionInformer<AgentPod>(keepPod);
  readonly #answered = new Map<string, string>();
  #names = 0;
  readonly remover: RemovalContext = {
    cluster: this.cluster,
    agent,
    policy: policyWith({ maxUnavailable: 1 }, { forgetAfterSeconds: 3600 }),
    requests: noRequests,
    admitted: new Admitted({ now: () => new Date(this.now) }),
    pods: this.#pods,
    memory: { grants: noMemory },
    repairs: new Repairs(),
    nodeListTimer: new NodeListTimer(),
    times: () => ({ steady: this.seconds, api: this.now / 1000 }),
    now: () => new Date(this.now),
    unchangedSeconds: unchangedClock(() => this.seconds),
  };

  static async of(nodes: Readonly<Record<string, Behaviour>>): Promise<World> {
    const world = new World();
    for (const [name, does] of Object.entries(nodes)) await world.join(name, does);
    return world;
  }

  get now(): number {
    return born + this.seconds * 1000;
  }

  async join(name: string, does: Behaviour = "proves"): Promise<void> {
    this.nodes.set(name, does);
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    const metadata = { name, labels: { "kubernetes.io/os": "linux" } };
    await this.#kubelets.create(collections.nodes, { metadata, status });
  }

  /** Deletes a Node, and its pod with it. */
  leave(name: string): void {
    this.nodes.delete(name);
    this.delete(`${collections.nodes}/${name}`);
    for (const pod of this.pods) if (pod.spec?.nodeName === name) this.#drop(pod);
  }

  /** Lets the node's kubelet answer again, so that the node's pod becomes Ready. */
  returns(name: string): void {
    this.setReady(name, "True");
  }

  /** Sets whether the node's pod is Ready (`status`). */
  setReady(name: string, status: "True" | "False"): void {
    const lastTransitionTime = stamp(this.now);
    const conditions = ["ContainersReady", "Ready"].map((type) => {
      return { type, status, lastTransitionTime };
    });
    for (const pod of this.pods) {
      if (pod.spec?.nodeName !== name) continue;
      const path = `${collections.pods}/${pod.metadata?.name}/status`;
      const [{ lastState = {} } = {}] = pod.status?.containerStatuses ?? [];
      const containerStatuses = [{ name: agentContainer, state: { running: {} }, lastState }];
      const type = "application/merge-patch+json";
      const body = { status: { conditions, containerStatuses } };
      this.api.answer({ method: "PATCH", path, type, body });
    }
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

  /** Makes the controller forget its decisions, like a restart. */
  restart(): void {
    this.remover.memory.grants = noMemory;
  }

  /** Moves the clock, lets the nodes act, and takes a step. */
  async step(target: WantedContent): Promise<Progress> {
    await this.showPods();
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

  /** Moves the clock, lets the nodes act, and shows the pods to the informer. */
  async showPods(): Promise<void> {
    this.seconds += 1;
    await this.#act();
    this.#pods.begins();
    const [labelSelector, path] = [agentsSelector, collections.pods];
    const { store } = this.api;
    await this.cluster.pages<V1Pod>(path, { labelSelector }, (items) => this.#pods.page(items));
    this.#pods.listed(store.version);
  }

  get pods(): V1Pod[] {
    const answer = this.api.answer({ method: "GET", path: collections.pods });
    return "body" in answer ? (answer.body as { items: V1Pod[] }).items : [];
  }

  /** The revision that is granted to each node's pod. */
  get granted(): Record<string, number | undefined> {
    const entries = this.pods.map(({ metadata, spec }) => [
      spec?.nodeName ?? "",
      grantOf(metadata?.annotations)?.revision,
    ]);
    return Object.fromEntries(entries) as Record<string, number | undefined>;
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
   * The controller's writes so far, by the name of the object, or `pod-of-NODE`. A deletion has a
   * minus sign in front.
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
      .map(({ verb, resource, name }) => {
        const plural = resource.split("/").at(-1) ?? "";
        const path = [...paths.keys()].find((candidate) =>
          candidate.endsWith(`/${plural}/${name}`),
        );
        const short = path === undefined ? name.replace(/-\d+$/, "") : (paths.get(path) ?? name);
        return verb === "delete" ? `-${short}` : short;
      });
  }

  async #act(): Promise<void> {
    const { daemonSet } = this;
    const living = new Set<string>();
    for (const pod of this.pods) {
      const node = pod.spec?.nodeName ?? "";
      const isLeft = daemonSet === undefined && !this.stuck.has(node);
      const isEnding = pod.metadata?.deletionTimestamp !== undefined;
      if (isLeft || isEnding || this.nodes.get(node) === "podless") this.#drop(pod);
      else {
        living.add(node);
        await this.#answer(pod, node);
      }
    }
    if (daemonSet === undefined) return;
    for (const [node, does] of this.nodes)
      if (!living.has(node) && does !== "podless") await this.#start(daemonSet, node);
    const count = this.nodes.size;
    const { resourceVersion = "", uid = "" } = this.daemonSet?.metadata ?? {};
    await this.#kubelets.patch(`${owned.daemonSet}/status`, {
      metadata: { uid, resourceVersion },
      status: { desiredNumberScheduled: count, numberAvailable: count },
    });
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
      spec: {
        nodeName: node,
        containers: [{ name: agentContainer }],
        volumes: spec?.template.spec?.volumes ?? [],
      },
    });
    await this.#report(pod, undefined);
  }

  async #answer(pod: V1Pod, node: string): Promise<void> {
    const does = this.nodes.get(node) ?? "away";
    const { uid = "", annotations } = pod.metadata ?? {};
    const grant = grantOf(annotations);
    if (does === "away") {
      if (this.#answered.get(uid) === "away") return;
      this.#answered.set(uid, "away");
      return this.#report(pod, undefined, "False");
    }
    if (grant === undefined || does === "ignores" || this.#answered.get(uid) === keyOf(grant))
      return;
    this.#answered.set(uid, keyOf(grant));
    const kind: MessageKind = does === "fails" && grant.revision > 0 ? "failed" : "proved";
    const reports = grant.word || kind === "failed";
    const word = { kind, key: keyOf(grant), journal: grant.revision };
    await this.#report(pod, reports ? messageOf("GPS200 an answer", word) : undefined);
  }

  async #report(pod: V1Pod, message: string | undefined, ready = "True"): Promise<void> {
    const { name = "", uid = "" } = pod.metadata ?? {};
    const resourceVersion = pod.metadata?.resourceVersion ?? "";
    const lastTransitionTime = stamp(this.now);
    const before = pod.status?.containerStatuses?.[0]?.lastState;
    const lastEnd = { terminated: { message, finishedAt: lastTransitionTime } };
    const lastState = message === undefined ? (before ?? {}) : lastEnd;
    await this.#kubelets.patch(`${collections.pods}/${name}/status`, {
      metadata: { uid, resourceVersion },
      status: {
        conditions: [
          { type: "ContainersReady", status: "True", lastTransitionTime },
          { type: "Ready", status: ready, lastTransitionTime },
        ],
        containerStatuses: [
          { name: agentContainer, ready: true, state: { running: {} }, lastState },
        ],
      },
    });
  }

  #drop({ metadata }: V1Pod): void {
    const path = `${collections.pods}/${metadata?.name}`;
    this.api.answer({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
  }
}

/** The published content is served, and no grant is unproved. */
export const isServed = ({ view, served, revision }: Progress): boolean =>
  view?.phase === "served" && served === revision && view.places === 0;

/** Returns a cluster of three nodes that have the content `firstContent`. */
export async function deployed(): Promise<World> {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  await world.until(firstContent, isServed);
  return world;
}
