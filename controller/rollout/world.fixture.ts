/**
 * For tests: the whole controller on a fake API server, whose nodes and DaemonSet controller are
 * the model's. A clock of its own drives them all.
 */
import assert from "node:assert/strict";
import type { KubernetesObject, V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { agent as agentFixture } from "#controller/objects/daemonset/agent.fixture.ts";
import {
  askingSeconds,
  type Registration,
  revisionAnnotation,
  secretKeys,
  secretType,
} from "#contract/names.ts";
import { readRollouts } from "#controller/rollout/halt/rollouts.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { noWishes } from "#controller/policy/spec/policy-in-force.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Store } from "#test/harness/api/store.ts";
import { agentOf } from "#test/harness/nodes/agent.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { type ModelNode, type ModelPod, NodesModel } from "#test/harness/nodes/nodes.ts";
import { revisionOf } from "../objects/daemonset/daemonset-state.ts";
import { readPublished } from "../objects/global-secret.ts";
import { readState } from "../objects/state.ts";
import type { DeliveryPolicy } from "../policy/delivery.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import type { Report } from "../report/outcome.ts";
import { reconcile } from "../reconcile.ts";
import type { Reconciler } from "../reconciler.ts";
import { createLookout } from "./lookout.ts";
import type { Progress } from "./step.ts";

export const additionalPath = `${collections.secrets}/additional-pull-secret`;
export const text = (pair: string) =>
  JSON.stringify({ auths: { "quay.io": { auth: Buffer.from(pair).toString("base64") } } });
const nothing = async () => {};
const silence: Report = {
  begins: () => {},
  paused: () => {},
  unsupported: nothing,
  foreign: nothing,
  verdict: nothing,
  progress: nothing,
  removal: nothing,
  failed: () => {},
  idle: () => {},
  succeeded: () => {},
};

export class World {
  /** Documents that no kubelet survives. */
  readonly bad = new Set<string>();
  /** Seconds until a pod pulls on a node; undefined: agents tell kubelets of no provider. */
  pulls: number | undefined;
  /** The reason that the last step of the rollout gave. */
  reason = "";
  /** Most nodes at work while none had the template's revision. */
  mostBeforeProof = 0;
  readonly api: FakeApi;
  readonly nodes: NodesDriver;
  readonly reconciler: Reconciler;
  /** When each node's kubelet was told of a provider. */
  readonly #told = new WeakMap<ModelNode, number>();
  #now = Date.parse("2026-01-01T00:00:00Z");

  constructor() {
    const now = () => new Date(this.#now);
    this.api = new FakeApi(new Store(now));
    const cluster = directly(this.api, fieldManager);
    const model = new NodesModel(agentOf((node) => this.#isAsked(node)));
    model.behaviour = ({ journal }) =>
      this.bad.has(journal?.begun?.document ?? "") ? "breaks" : "ready";
    const kubelets = directly(this.api, "kubelet");
    this.nodes = new NodesDriver(kubelets, { model, daemonSets: true, clock: () => this.#now });
    this.reconciler = {
      cluster,
      live: cluster,
      original: undefined,
      extras: { read: async () => [] },
      now,
      report: {
        ...silence,
        progress: async ({ turn }: Progress) => {
          this.reason = "reason" in turn ? turn.reason : "";
        },
      },
      lookout: createLookout(() => this.seconds),
      stillSeconds: () => 0,
      nudgeSeconds: () => undefined,
      platform: async () => undefined,
      policy: policyWith(
        { maxUnavailable: 1, probationSeconds: 3 },
        { graceSeconds: 0, forgetAfterSeconds: 3600 },
      ),
      wishes: noWishes,
      steering: { accepted: undefined, orphans: [] },
      agent: { ...agentFixture, probationSeconds: 3 },
      admitted: new Admitted({ now }),
    } as unknown as Reconciler;
  }

  static async of(size: number): Promise<World> {
    const world = new World();
    for (let one = 0; one < size; one++) await world.nodes.add(`n${one}`);
    return world;
  }

  get seconds(): number {
    return this.#now / 1000;
  }

  /** Sets another party's admission, which may change the DaemonSet. */
  set admits(change: (daemonSet: V1DaemonSet) => void) {
    this.api.store.admit = (object) => {
      if (object.kind === "DaemonSet") change(object as unknown as V1DaemonSet);
    };
  }

  /** Names of the objects that the controller wrote, in order. */
  get writes(): string[] {
    const written = this.api.asked.filter(
      ({ userAgent, verb }) =>
        userAgent === fieldManager && (verb === "patch" || verb === "update"),
    );
    return written.map(({ name }) => name);
  }

  /** The object as it is now. */
  object<T extends KubernetesObject>(path: string): T | undefined {
    const answer = this.api.answer({ method: "GET", path });
    return answer.status === 200 && "body" in answer ? (answer.body as T) : undefined;
  }

  /** Deletes the object, as an administrator may. */
  remove(path: string): void {
    this.api.answer({ method: "DELETE", path });
  }

  get daemonSet(): V1DaemonSet | undefined {
    return this.object(owned.daemonSet);
  }

  declare(pair: string, said: Record<string, string> = {}): void {
    this.putSecret(additionalPath, text(pair), said);
  }

  /** Writes a Secret with this document. */
  putSecret(path: string, document: string, annotations: Record<string, string> = {}): void {
    const data = { ".dockerconfigjson": Buffer.from(document).toString("base64") };
    const metadata = { name: path.split("/").at(-1), annotations };
    const body = { apiVersion: "v1", kind: "Secret", type: secretType, data, metadata };
    const query = { fieldManager: "admin", force: "true" };
    assert.ok(this.api.answer({ method: "PATCH", path, query, body }).status < 300);
  }

  /** Steers the agents' delivery as an edit of the object's spec does. */
  deliverBy(delivery: DeliveryPolicy): void {
    Object.assign(this.reconciler, { agent: { ...this.reconciler.agent, delivery } });
  }

  get published() {
    return readPublished(this.object<V1Secret>(owned.global));
  }

  get state() {
    return readState(this.object<V1Secret>(owned.state));
  }

  get halt() {
    return readRollouts(this.state.halted).halt;
  }

  get registration(): Registration {
    return this.nodes.model.secret[secretKeys.registration] as Registration;
  }

  /** The first node that registers a provider is Ready when its kubelet has asked. */
  #isAsked(node: ModelNode): boolean {
    if (this.pulls === undefined || this.registration === "proved") return true;
    const told = this.#told.get(node) ?? this.seconds;
    this.#told.set(node, told);
    return this.seconds - told >= Math.min(this.pulls, askingSeconds);
  }

  async pass(seconds: number, until: () => boolean = () => false): Promise<void> {
    for (let second = 0; second < seconds && !until(); second++) {
      this.#now += 1000;
      await this.nodes.step();
      if (!this.#isProved())
        this.mostBeforeProof = Math.max(this.mostBeforeProof, this.nodes.atWork);
      await reconcile(this.reconciler);
    }
  }

  #isProved(): boolean {
    const revision = String(revisionOf(this.daemonSet));
    const has = ({ wasReady, annotations }: ModelPod) =>
      wasReady && annotations[revisionAnnotation] === revision;
    return this.nodes.model.nodes.some(({ pods }) => pods.some(has));
  }

  having = (pair: string) =>
    this.nodes.model.nodes.filter(({ applied }) => applied === text(pair)).length;
}

/** With `delivery` from the beginning; else as by default. */
export async function deployed(size: number, delivery?: DeliveryPolicy): Promise<World> {
  const world = await World.of(size);
  if (delivery !== undefined) world.deliverBy(delivery);
  world.declare("a:1");
  await world.pass(120, () => world.state.served?.revision === 1);
  assert.equal(world.having("a:1"), size);
  return world;
}
