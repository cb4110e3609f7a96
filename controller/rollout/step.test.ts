/**
 * The whole controller on a cluster in memory, whose nodes and DaemonSet controller are the
 * model's: what it writes, in which order, and what that does to the nodes.
 */
import { agent as agentFixture } from "../objects/agent.fixture.ts";
import { restSeconds } from "./decision.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import {
  digestAnnotation,
  retryAnnotation,
  revisionAnnotation,
  secretType,
} from "#contract/names.ts";
import { DaemonSetModel } from "../objects/daemonset.fixture.ts";
import { readRollouts } from "./decide/halt.ts";
import type { Cluster } from "#kube/client.ts";
import { createLookout } from "./lookout.ts";
import { annotations } from "#kube/ownership.ts";
import { collections, owned } from "#kube/paths.ts";
import { readPublished } from "../objects/global-secret.ts";
import type { Report } from "../report/outcome.ts";
import { reconcile, type Reconciler } from "../reconcile.ts";
import { noWishes } from "../policy/in-force.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { Admitted } from "#kube/apply/admitted.ts";
import { readState } from "../objects/state.ts";

type Object = KubernetesObject & { data?: Record<string, string> };

const start = Date.parse("2026-01-01T00:00:00Z");
const additionalPath = `${collections.secrets}/additional-pull-secret`;
const text = (pair: string) =>
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

class World {
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
      report: silence,
      lookout: createLookout(now),
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

  #put(path: string, body: Object): Object {
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
    return this.model.nodes.map(({ name, dead, since }) => ({
      metadata: { name },
      status: {
        conditions: [
          { type: "Ready", status: dead ? "Unknown" : "True", lastTransitionTime: this.#at(since) },
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
    const data = { ".dockerconfigjson": Buffer.from(text(pair)).toString("base64") };
    this.objects.set(additionalPath, {
      type: secretType,
      data,
      metadata: { annotations: said },
    } as Object);
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

async function deployed(size: number): Promise<World> {
  const world = new World(size);
  world.declare("a:1");
  await world.pass(120, () => readState(world.objects.get(owned.state)).served?.revision === 1);
  assert.equal(world.having("a:1"), size);
  return world;
}

test("born unavailable, then one patch brings the first revision to one node, then to the others", async () => {
  const world = new World(3);
  world.declare("a:1");
  await world.pass(3);
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 86_400);
  await world.pass(60, () => (world.model.template ?? 0) > 0);
  assert.equal(world.daemonSet?.spec?.minReadySeconds, 3);
  await world.pass(60);
  assert.deepEqual([world.having("a:1"), world.model.mostTaken], [3, 1]);
});

test("a halt is remembered before it is published, and published before the template has it", async () => {
  const world = await deployed(4);
  world.declare("a:2");
  world.model.bad.add(text("a:2"));
  await world.pass(
    60,
    () => world.model.contents.get(world.model.published)?.document === text("a:2"),
  );
  world.writes.length = 0;
  await world.pass(120, () => world.published?.intent === "hold");
  const { state, global, daemonSet } = Object.fromEntries(
    Object.entries({ state: owned.state, global: owned.global, daemonSet: owned.daemonSet }).map(
      ([name, path]) => [name, world.writes.indexOf(path.split("/").at(-1) ?? "")],
    ),
  ) as Record<"state" | "global" | "daemonSet", number>;
  assert.ok(state >= 0 && state < global && global < daemonSet, world.writes.join());
  assert.equal(world.published?.document, text("a:1"));
  assert.deepEqual(
    [world.halt?.revision, world.halt?.nodes.length, world.halt?.reason],
    [2, 1, "failed"],
  );
  await world.pass(60);
  assert.equal(world.having("a:1"), 4);
});

test("a controller that starts anew in a hold keeps it, and an asked-for retry ends it", async () => {
  const world = await deployed(4);
  world.declare("a:2");
  world.model.bad.add(text("a:2"));
  await world.pass(120, () => world.published?.intent === "hold");
  Object.assign(world.reconciler, { lookout: createLookout(world.reconciler.now) });
  await world.pass(120);
  assert.equal(world.published?.intent, "hold");
  world.model.bad.clear();
  world.declare("a:2", { [retryAnnotation]: "1" });
  await world.pass(120);
  assert.deepEqual(
    [world.having("a:2"), world.published?.intent, world.halt],
    [4, "apply", undefined],
  );
});

test("what is withdrawn is carried by no hold", async () => {
  const world = await deployed(3);
  world.objects.delete(additionalPath);
  await world.pass(3);
  assert.equal(world.published?.intent, "release");
  assert.equal(readState(world.objects.get(owned.state)).served, undefined);
});

test("a rollout that another controller's clock put into the future holds no change up for longer than the interval", () => {
  const now = () => new Date("2026-11-23T00:00:00Z");
  const rest = (rolledAt: string, minIntervalSeconds: number) =>
    restSeconds(
      { halt: undefined, excused: [], rolledAt },
      { policy: policyWith({ minIntervalSeconds }), now },
    );
  assert.equal(rest("2026-11-23T01:00:00Z", 0), 0);
  assert.equal(rest("2026-11-23T01:00:00Z", 60), 60);
  assert.equal(rest("2026-11-22T23:59:50Z", 60), 50);
});
