/**
 * For tests: the whole controller on a cluster in memory, whose nodes and DaemonSet controller are
 * the model's.
 */
import { agent as agentFixture } from "#controller/objects/daemonset/agent.fixture.ts";
import assert from "node:assert/strict";
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import {
  digestAnnotation,
  type Registration,
  revisionAnnotation,
  secretKeys,
  secretType,
} from "#contract/names.ts";
import { DaemonSetModel } from "#controller/objects/daemonset/daemonset.fixture.ts";
import { readRollouts } from "#controller/rollout/halt/rollouts.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { createLookout } from "./lookout.ts";
import { annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { readPublished } from "../objects/global-secret.ts";
import type { Report } from "../report/outcome.ts";
import { reconcile } from "../reconcile.ts";
import type { Reconciler } from "../reconciler.ts";
import type { Progress } from "./step.ts";
import { noWishes } from "#controller/policy/spec/policy-in-force.ts";
import type { DeliveryPolicy } from "../policy/delivery.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { readState } from "../objects/state.ts";

type Object = KubernetesObject & { data?: Record<string, string> };

const start = Date.parse("2026-01-01T00:00:00Z");
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
  readonly objects = new Map<string, Object>();
  readonly writes: string[] = [];
  readonly model = new DaemonSetModel();
  readonly reconciler: Reconciler;
  #version = 0;
  #template = "";

  constructor(size: number) {
    for (let one = 0; one < size; one++) this.model.join();
    const now = () => new Date(start + this.model.now * 1000);
    const cluster = this.#cluster();
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
      lookout: createLookout(() => this.model.now),
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

  /** What the last step of the rollout waits for, in its words. */
  reason = "";

  /** What somebody else's admission makes of the DaemonSet. */
  admits: (daemonSet: V1DaemonSet) => void = () => {};

  #put(path: string, body: Object): Object {
    if (path === owned.daemonSet) this.admits(body);
    this.#version += 1;
    this.writes.push(path.split("/").at(-1) ?? "");
    const before = this.objects.get(path);
    const said = { ...before?.metadata?.annotations, ...body.metadata?.annotations };
    const metadata = {
      uid: String(this.#version),
      ...before?.metadata,
      ...body.metadata,
      annotations: said,
    };
    const object = {
      ...before,
      ...body,
      metadata: { ...metadata, resourceVersion: String(this.#version) },
    };
    this.objects.set(path, object);
    return object;
  }

  #cluster(): Cluster {
    return {
      get: async (path: string) => (path.includes("?") ? { items: [] } : this.objects.get(path)),
      pages: async (
        path: string,
        _: object,
        each: (items: readonly object[]) => void,
        as?: string,
      ) => {
        if (as === "rows") each([]);
        else each(path === collections.nodes ? this.#nodes() : this.#pods());
      },
      apply: async (path: string, body: Object) => this.#put(path, body),
      replace: async (path: string, body: Object) => this.#put(path, body),
      create: nothing,
      remove: async (path: string) => void this.objects.delete(path),
    } as unknown as Cluster;
  }

  get daemonSet(): V1DaemonSet | undefined {
    return this.objects.get(owned.daemonSet);
  }

  #at = (seconds: number) => new Date(start + seconds * 1000).toISOString();

  #nodes(): object[] {
    return this.model.nodes.map(({ name, unreachable, since }) => ({
      metadata: { name },
      status: {
        conditions: [
          {
            type: "Ready",
            status: unreachable ? "Unknown" : "True",
            lastTransitionTime: this.#at(since),
          },
        ],
      },
    }));
  }

  #pods(): object[] {
    const marks = this.daemonSet?.spec?.template.metadata?.annotations ?? {};
    return this.model.survey(true).flatMap(({ name, agent }, index) => {
      const pod = this.model.nodes[index]?.pods.find(({ leaving }) => !leaving);
      if (agent === undefined || pod === undefined) return [];
      const since = this.#at(pod.ready ?? pod.unready);
      const code = agent.gaveUp ? 1 : agent.refused ? 3 : undefined;
      const lastState =
        code === undefined ? {} : { terminated: { exitCode: code, message: "GPS218 it died" } };
      const status = pod.ready === undefined ? "False" : "True";
      return {
        metadata: {
          creationTimestamp: this.#at(pod.created),
          annotations: { ...marks, ...(agent.current ? {} : { [revisionAnnotation]: "older" }) },
          ownerReferences: [
            { kind: "DaemonSet", name: "global-pull-secret-syncer", controller: true },
          ],
        },
        spec: { nodeName: name },
        status: {
          conditions: [{ type: "Ready", status, lastTransitionTime: since }],
          containerStatuses: [
            { name: "agent", ready: pod.ready !== undefined, state: { running: {} }, lastState },
          ],
        },
      };
    });
  }

  declare(pair: string, said: Record<string, string> = {}): void {
    this.putSecret(additionalPath, text(pair), said);
  }

  /** Writes a Secret with this document. */
  putSecret(path: string, document: string, said: Record<string, string> = {}): void {
    const data = { ".dockerconfigjson": Buffer.from(document).toString("base64") };
    const secret = { type: secretType, data, metadata: { annotations: said } };
    this.objects.set(path, secret);
  }

  /** Steers the agents' delivery as an edit of the object's spec does. */
  deliverBy(delivery: DeliveryPolicy): void {
    Object.assign(this.reconciler, { agent: { ...this.reconciler.agent, delivery } });
  }

  get published() {
    return readPublished(this.objects.get(owned.global));
  }

  get halt() {
    return readRollouts(readState(this.objects.get(owned.state)).halted).halt;
  }

  /** What the DaemonSet controller and the kubelets see of what was written. */
  #show(): void {
    const { published } = this;
    if (
      published !== undefined &&
      published.revision > 0 &&
      !this.model.contents.has(published.revision)
    )
      this.model.contents.set(published.revision, { ...published, sources: published.sourcesText });
    this.model.published = published?.revision ?? 0;
    const said = this.objects.get(owned.global)?.data?.[secretKeys.registration] ?? "";
    this.model.registration = Buffer.from(said, "base64").toString() as Registration;
    const { spec, metadata } = this.daemonSet ?? {};
    if (spec === undefined) return;
    const marks = spec.template.metadata?.annotations ?? {};
    const template = [revisionAnnotation, digestAnnotation, annotations.template]
      .map((name) => marks[name])
      .join();
    if (template !== this.#template) this.model.generation += 1;
    this.#template = template;
    this.model.template = Number(marks[revisionAnnotation]);
    const stage = metadata?.annotations?.[annotations.stage] === "canary" ? "canary" : "wave";
    this.model.strategy = {
      stage,
      maxUnavailable: spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1,
    };
  }

  async pass(seconds: number, until: () => boolean = () => false): Promise<void> {
    for (let second = 0; second < seconds && !until(); second++) {
      this.model.tick();
      this.#show();
      this.model.sync();
      for (const index of this.model.nodes.keys()) this.model.kubelet(index);
      this.model.measure();
      const { desired, updated, ready, available } = this.model.status;
      const counters = {
        desiredNumberScheduled: desired,
        updatedNumberScheduled: updated,
        numberReady: ready,
      };
      const live = this.objects.get(owned.daemonSet);
      if (live !== undefined)
        Object.assign(live, { status: { ...counters, numberAvailable: available } });
      await reconcile(this.reconciler);
    }
  }

  having = (pair: string) =>
    this.model.nodes.filter(({ applied }) => applied === text(pair)).length;
}

/** With `delivery` from the beginning; else as by default. */
export async function deployed(size: number, delivery?: DeliveryPolicy): Promise<World> {
  const world = new World(size);
  if (delivery !== undefined) world.deliverBy(delivery);
  world.declare("a:1");
  await world.pass(120, () => readState(world.objects.get(owned.state)).served?.revision === 1);
  assert.equal(world.having("a:1"), size);
  return world;
}
