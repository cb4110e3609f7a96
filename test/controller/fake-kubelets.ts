/**
 * Fake kubelets: nodes with leases, and agents' pods that start, become Ready, fail or go as
 * told. Only the API is real, which is all that the controller and the DaemonSet controller ever
 * see of a node.
 */
import type { V1Node, V1ObjectMeta, V1Pod, V1Secret } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes, revisionAnnotation } from "#contract/names.ts";
import { paths, type Plane } from "./plane.ts";

/**
 * What an agent of this revision does on this node: gets Ready, never does, ends once to say that
 * the node is unfit and stays, or gives up with these last words.
 */
export type Behaviour = (node: string, revision: number) => "ready" | "hangs" | "refuses" | string;

export type PodStart = Readonly<{ node: string; revision: number; at: number }>;

const pods = "/api/v1/namespaces/kube-system/pods";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Milliseconds. No conflict lasts so long, and no test keeps the API from them. */
const longestFailing = 30_000;

export class Kubelets implements AsyncDisposable {
  readonly #plane: Plane;
  readonly #names: string[] = [];
  readonly #unreachable = new Set<string>();
  /** Of each pod: what was told last; and the pods that were Ready once. */
  readonly #told = new Map<string, string>();
  readonly #wereReady = new Set<string>();
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[];
  /** Why they do nothing any more. */
  #broken: unknown;
  behaviour: Behaviour = () => "ready";
  /**
   * Nodes whose agents get Ready under a release without having said that they gave anything back.
   */
  readonly wordless = new Set<string>();
  #releasing = false;
  /** Of each pod: with what word its container ended once. */
  readonly #words = new Map<string, string>();
  /** Every start of an agent, in order. */
  readonly starts: PodStart[] = [];
  /** Most agents that were at work without being Ready at the same time, revision 0 apart. */
  mostAtOnce = 0;

  constructor(plane: Plane) {
    this.#plane = plane;
    this.#loops = [this.#every(10_000, () => this.#renew()), this.#every(150, () => this.#sync())];
  }

  /** Adds a Ready Linux node. */
  async add(name: string): Promise<void> {
    const node: V1Node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name } },
    };
    await this.#plane.api.create("/api/v1/nodes", node);
    this.#names.push(name);
    await this.#renew();
    await this.#nodeStatus(name, "True");
  }

  async remove(name: string): Promise<void> {
    this.#names.splice(this.#names.indexOf(name), 1);
    this.#unreachable.delete(name);
    await this.#plane.cluster.kubectl("delete", "node", name);
  }

  /**
   * Leaves these nodes, alive: what a test that failed has added or killed must not fail the next
   * one.
   */
  async reset(names: readonly string[]): Promise<void> {
    for (const name of this.#names.filter((one) => !names.includes(one))) await this.remove(name);
    for (const name of this.#unreachable) await this.revive(name);
  }

  /**
   * The kubelet falls silent, and the node controller has noticed: node Unknown, its pods not
   * Ready.
   */
  async die(name: string): Promise<void> {
    this.#unreachable.add(name);
    await this.#nodeStatus(name, "Unknown");
    for (const pod of await this.#pods()) {
      if (pod.spec?.nodeName !== name) continue;
      const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
      const conditions = [
        ...others,
        { type: "Ready", status: "False", lastTransitionTime: new Date() },
      ];
      await this.#podStatus(pod, { ...pod.status, conditions });
    }
  }

  async revive(name: string): Promise<void> {
    this.#unreachable.delete(name);
    for (const told of [this.#told, this.#wereReady])
      for (const uid of told.keys()) if (uid.startsWith(`${name}/`)) told.delete(uid);
    await this.#renew();
    await this.#nodeStatus(name, "True");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    if (this.#broken !== undefined) throw new Error("the kubelets failed", { cause: this.#broken });
  }

  /** Nodes in the order in which a revision started on them. */
  order(revision: number): string[] {
    return this.starts.filter((start) => start.revision === revision).map(({ node }) => node);
  }

  async #every(milliseconds: number, work: () => Promise<void>): Promise<void> {
    let failing: number | undefined;
    while (!this.#stop.signal.aborted) {
      try {
        await work();
        failing = undefined;
      } catch (error) {
        // The next turn sees what this one missed, unless none does.
        failing ??= performance.now();
        if (performance.now() - failing > longestFailing) this.#broken = error;
      }
      await sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #renew(): Promise<void> {
    for (const name of this.#names) {
      if (this.#unreachable.has(name)) continue;
      const spec = {
        holderIdentity: name,
        leaseDurationSeconds: 40,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      };
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name, namespace: "kube-node-lease" },
        spec,
      };
      await this.#plane.api.apply(`${leases}/${name}`, lease, { manager: "kubelet", force: true });
    }
  }

  async #sync(): Promise<void> {
    let atWork = 0;
    const global = await this.#plane.api.get<V1Secret>(paths.global);
    this.#releasing =
      Buffer.from(global?.data?.["intent"] ?? "", "base64").toString() === "release";
    for (const pod of await this.#pods()) {
      const node = pod.spec?.nodeName;
      if (node === undefined || this.#unreachable.has(node)) continue;
      // Of a node that was removed too: the collector of such pods takes a minute for it.
      if (pod.metadata?.deletionTimestamp !== undefined) await this.#finish(pod);
      else if (this.#names.includes(node)) atWork += (await this.#run(pod, node)) ? 1 : 0;
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, atWork);
  }

  /** True while the agent is at work and not Ready. */
  async #run(pod: V1Pod, node: string): Promise<boolean> {
    const revision = Number(pod.metadata?.annotations?.[revisionAnnotation]);
    const uid = `${node}/${pod.metadata?.uid ?? ""}`;
    const started = this.#told.has(uid);
    if (!started) {
      this.starts.push({ node, revision, at: Date.now() });
      const gives = this.#releasing && revision > 0 && !this.wordless.has(node);
      this.#words.set(uid, gives ? `GPS224 withdrawn (revision ${revision})` : "");
    }
    // A container that has just started is not Ready yet.
    const behaviour = started ? this.behaviour(node, revision) : "hangs";
    const word = this.#words.get(uid) ?? "";
    if (this.#told.get(uid) !== behaviour)
      await this.#podStatus(pod, statusOf(pod, behaviour, word));
    this.#told.set(uid, behaviour);
    if (behaviour === "ready") this.#wereReady.add(uid);
    return revision > 0 && !this.#wereReady.has(uid);
  }

  /**
   * Without a grace period, as a kubelet that has ended the containers. As an eviction, which the
   * API takes for a deletion once the pod is ending: a kubectl for each pod costs half a second.
   */
  async #finish({ metadata: { name = "", uid = "" } = {} }: V1Pod): Promise<void> {
    const deleteOptions = { gracePeriodSeconds: 0, preconditions: { uid } };
    const metadata = { name, namespace: "kube-system" };
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions };
    await this.#plane.api.create(`${pods}/${name}/eviction`, eviction);
  }

  async #pods(): Promise<V1Pod[]> {
    const all: V1Pod[] = [];
    await this.#plane.api.pages<V1Pod>(
      pods,
      { labelSelector: "name=global-pull-secret-syncer" },
      (items) => void all.push(...items),
    );
    return all;
  }

  async #podStatus(pod: V1Pod, status: object): Promise<void> {
    await this.#plane.api.replace(`${pods}/${pod.metadata?.name ?? ""}/status`, {
      ...pod,
      apiVersion: "v1",
      kind: "Pod",
      metadata: unconditional(pod.metadata),
      status,
    });
  }

  async #nodeStatus(name: string, ready: "True" | "Unknown"): Promise<void> {
    const node = await this.#plane.api.get<V1Node>(`/api/v1/nodes/${name}`);
    const now = new Date().toISOString();
    const conditions = [
      {
        type: "Ready",
        status: ready,
        reason: "Fake",
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      },
    ];
    const capacity = { cpu: "8", memory: "8Gi", pods: "110" };
    await this.#plane.api.replace(`/api/v1/nodes/${name}/status`, {
      ...node,
      metadata: unconditional(node?.metadata),
      status: { ...node?.status, conditions, capacity, allocatable: capacity },
    });
  }
}

/**
 * Without the version: others write to nodes and pods all the time, but none of them what a kubelet
 * does.
 */
function unconditional(metadata: V1ObjectMeta | undefined): V1ObjectMeta {
  const { resourceVersion: _, ...rest } = metadata ?? {};
  return rest;
}

function statusOf(pod: V1Pod, behaviour: string, word: string): object {
  const now = new Date().toISOString();
  const ready = behaviour === "ready";
  const ended =
    ready && word !== "" ? { lastState: { terminated: { exitCode: 0, message: word } } } : {};
  const running = {
    state: { running: { startedAt: now } },
    ...ended,
    ready,
    started: true,
    restartCount: 0,
  };
  const failed = {
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: { terminated: { exitCode: 1, message: behaviour } },
    ready: false,
    started: false,
    restartCount: 1,
  };
  const unfit = { exitCode: exitCodes.refused, message: "GPS206 config.json is a symbolic link" };
  const refused = { ...running, lastState: { terminated: unfit }, restartCount: 1 };
  const state =
    behaviour === "refuses" ? refused : ready || behaviour === "hangs" ? running : failed;
  const condition = (type: string, status: boolean) => ({
    type,
    status: status ? "True" : "False",
    lastTransitionTime: now,
  });
  return {
    ...pod.status,
    phase: "Running",
    startTime: pod.status?.startTime ?? now,
    conditions: [
      condition("PodScheduled", true),
      condition("Initialized", true),
      condition("ContainersReady", ready),
      condition("Ready", ready),
    ],
    containerStatuses: [{ name: "agent", image: "x", imageID: "x", ...state }],
  };
}
