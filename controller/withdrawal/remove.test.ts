/**
 * Removal step by step against an API server of maps: what exists and what the nodes said decides;
 * a controller has no memory.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { givenAdditional } from "#controller/sources/read/input.ts";
import { agent } from "#controller/objects/daemonset/agent.fixture.ts";
import { daemonSet, templateDigest } from "#controller/objects/daemonset/daemonset.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { createLookout } from "../rollout/lookout.ts";
import { observe } from "#controller/sources/read/snapshot.ts";
import { annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { collections, owned, type OwnedName } from "#kube/client/paths.ts";
import { pinnedOf } from "#controller/objects/daemonset/pinned-nodes.ts";
import { globalSecret, newSalt, readPublished } from "../objects/global-secret.ts";
import { role, roleBinding, serviceAccount } from "../objects/rbac.ts";
import { remove, takesAway } from "./remove.ts";
import type { Removal, Remover } from "./removal.ts";
import { noWishes } from "#controller/policy/spec/policy-in-force.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { stillClock } from "./standstill.ts";
import { noState, readState, stateSecret } from "../objects/state.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const credential = '{"auths":{"quay.io":{"auth":"dTpw"}}}';
type Node = { says: "back" | "ready" | "away" };

class World {
  seconds = 0;
  readonly objects = new Map<string, Record<string, unknown>>();
  readonly deleted: string[] = [];
  /** Nodes whose agents do not end when the DaemonSet is gone. */
  ending: string[] = [];
  version = 1;

  readonly nodes: Map<string, Node>;

  constructor(nodes: Record<string, Node["says"]>) {
    this.nodes = new Map(Object.entries(nodes).map(([name, says]) => [name, { says }]));
    const content = {
      revision: 1,
      document: credential,
      sources: '{"quay.io":"additional"}',
      salt: newSalt(),
    };
    const { document, sources } = content;
    const served = { revision: 1, intent: "apply", document, sources } as const;
    const accepted = { additional: credential };
    this.put(owned.state, stateSecret({ ...noState, accepted, served }));
    const said = { [annotations.rolled]: "true" };
    const global = globalSecret({ ...content, intent: "apply" });
    this.put(owned.global, { ...global, metadata: { ...global.metadata, annotations: said } });
    this.put(owned.serviceAccount, serviceAccount);
    this.put(owned.role, role);
    this.put(owned.roleBinding, roleBinding);
    this.put(
      owned.daemonSet,
      daemonSet(agent, { revision: 1, digest: "d" }, { stage: "wave", maxUnavailable: 1 }),
    );
  }

  put(path: string, object: object): void {
    const metadata = (object as { metadata?: object }).metadata ?? {};
    const kept = this.objects.get(path);
    const before = (kept?.["metadata"] ?? {}) as { annotations?: object; uid?: string };
    const said = (metadata as { annotations?: object }).annotations;
    this.objects.set(path, {
      ...kept,
      ...object,
      metadata: {
        ...before,
        ...metadata,
        annotations: { ...before.annotations, ...said },
        uid: before.uid ?? path,
        resourceVersion: String(this.version++),
      },
    });
  }

  get daemonSet(): V1DaemonSet {
    return this.objects.get(owned.daemonSet) as V1DaemonSet;
  }

  /** The nodes that the DaemonSet covers, each with its agent of the present template. */
  covered(): [string, Node][] {
    const names = pinnedOf(this.daemonSet)?.names;
    return [...this.nodes].filter(([name]) => names?.includes(name) ?? true);
  }

  pods(): object[] {
    const { annotations: marks } = this.daemonSet.spec?.template.metadata ?? {};
    const revision = marks?.["globalpullsecret.io/revision"] ?? "";
    return this.covered().map(([nodeName, { says }]) => {
      const message = `GPS224 withdrawn (revision ${revision})`;
      const lastState = says === "back" ? { terminated: { exitCode: 0, message } } : {};
      return {
        metadata: {
          creationTimestamp: new Date(start).toISOString(),
          annotations: {
            "globalpullsecret.io/revision": says === "away" ? "1" : revision,
            [annotations.template]: templateDigest(agent),
          },
          ownerReferences,
        },
        spec: { nodeName },
        status: {
          conditions: [
            {
              type: "Ready",
              status: says === "away" ? "False" : "True",
              lastTransitionTime: "2025-01-01",
            },
          ],
          containerStatuses: [{ name: "agent", ready: true, state: { running: {} }, lastState }],
        },
      };
    });
  }

  readonly cluster = {
    get: async (path: string) => {
      if (path.startsWith(`${collections.pods}?`)) return { items: this.ending.map(podOn) };
      const of =
        new URLSearchParams(path.split("?")[1])
          .get("fieldSelector")
          ?.replace("metadata.name=", "") ?? "";
      if (path.startsWith(`${collections.nodes}?`))
        return { items: this.nodes.has(of) ? [readyNode] : [] };
      return this.objects.get(path);
    },
    pages: async (path: string, _: object, each: (items: readonly object[]) => void) => {
      const status = (says: string) => (says === "away" ? "Unknown" : "True");
      const node = ([name, { says }]: [string, Node]) => ({
        metadata: { name },
        status: {
          conditions: [{ type: "Ready", status: status(says), lastTransitionTime: "2025-01-01" }],
        },
      });
      if (path === collections.nodes) each([...this.nodes].map(node));
      else each(this.pods());
    },
    apply: async (path: string, body: object) => {
      this.put(path, body);
      return this.objects.get(path);
    },
    remove: async (path: string) => {
      this.deleted.push(
        (Object.keys(owned) as OwnedName[]).find((name) => owned[name] === path) ?? path,
      );
      this.objects.delete(path);
    },
  } as unknown as Cluster;

  readonly remover: Remover = {
    cluster: this.cluster,
    agent,
    policy: policyWith({ maxUnavailable: 1 }, { forgetAfterSeconds: 3600 }),
    wishes: noWishes,
    admitted: new Admitted({ now: () => new Date() }),
    lookout: {
      ...createLookout(() => this.seconds),
      clocks: () => ({ stallSeconds: 60, readySeconds: 60, surveySeconds: 60, calmSeconds: 600 }),
      recent: () => undefined,
      glances: () => false,
    },
    nudgeSeconds: () => undefined,
    now: () => new Date(start + this.seconds * 1000),
    stillSeconds: () => 0,
  };

  /** One look of a controller that has just been started. */
  async look(): Promise<Removal> {
    const live = this.objects.get(owned.daemonSet);
    const nodes = this.covered();
    const living = nodes.filter(([, { says }]) => says !== "away").length;
    const counters = {
      desiredNumberScheduled: nodes.length,
      updatedNumberScheduled: living,
      numberAvailable: living,
    };
    if (live !== undefined) live["status"] = { ...counters, observedGeneration: 1 };
    const snapshot = await observe(this.cluster, undefined);
    const known = {
      published: readPublished(snapshot.global),
      state: readState(snapshot.state),
    };
    const sources = { given: [givenAdditional("absent")], ...known };
    this.seconds += 1;
    return remove(this.remover, snapshot, sources);
  }

  async looks(count: number): Promise<Removal> {
    let last = await this.look();
    for (let look = 1; look < count; look++) last = await this.look();
    return last;
  }

  text(): string {
    return [...this.objects.values()]
      .map((object) => JSON.stringify((object as V1Secret).data ?? {}))
      .join();
  }
}

const ownerReferences = [
  { kind: "DaemonSet", name: "global-pull-secret-syncer", controller: true },
];
const podOn = (nodeName: string) => ({ metadata: { ownerReferences }, spec: { nodeName } });
const readyNode = { status: { conditions: [{ type: "Ready", status: "True" }] } };

const everything = ["daemonSet", "roleBinding", "role", "serviceAccount", "global", "state"];

test("when every node has said that it gave back, the objects go in their order", async () => {
  const world = new World({ a: "back", b: "back" });
  await world.looks(5);
  assert.deepEqual(world.deleted, everything);
  assert.equal(
    takesAway(await observe(world.cluster, undefined)),
    false,
    "an idle look asks for nothing live",
  );
});

test("a node that is away keeps the DaemonSet for itself alone, and no credential is left in the cluster", async () => {
  const world = new World({ a: "back", b: "away" });
  const { awaited } = await world.looks(5);
  assert.deepEqual(awaited, { names: ["b"], until: "2026-01-01T01:00:02.000Z", seconds: 300 });
  assert.deepEqual(pinnedOf(world.daemonSet)?.names, ["b"]);
  assert.ok(!world.text().includes(Buffer.from(credential).toString("base64")));
  world.nodes.set("b", { says: "back" });
  await world.looks(3);
  assert.deepEqual(world.deleted, everything);
});

test("of several that are away the one that returns is let go, and one that is deleted is waited for no longer", async () => {
  const world = new World({ a: "back", b: "away", c: "away" });
  await world.looks(4);
  assert.deepEqual(pinnedOf(world.daemonSet)?.names, ["b", "c"]);
  const since = pinnedOf(world.daemonSet)?.since;
  world.nodes.set("b", { says: "back" });
  await world.looks(2);
  assert.deepEqual(pinnedOf(world.daemonSet), { names: ["c"], since });
  world.nodes.delete("c");
  await world.looks(3);
  assert.deepEqual(world.deleted, everything);
});

for (const planted of ["2999-01-01T00:00:00.000Z", "soon"])
  test(`an awaited-since that says ${planted} is taken for the present: the wait has an end`, async () => {
    const world = new World({ a: "back", b: "away" });
    await world.looks(5);
    Object.assign(world.daemonSet?.metadata?.annotations ?? {}, {
      [annotations.awaitedSince]: planted,
    });
    const { awaited } = await world.look();
    const now = world.remover.now().getTime();
    assert.equal(awaited?.until, new Date(now + 3_600_000).toISOString());
    await world.look();
    world.seconds += 3600;
    assert.equal((await world.look()).released, true);
  });

test("nodes that stay away are given up after --forget-after, by name", async () => {
  const world = new World({ a: "back", b: "away" });
  await world.looks(4);
  world.seconds += 3600;
  const { released, leftBehind } = await world.look();
  assert.deepEqual([released, leftBehind], [true, ["b"]]);
  await world.looks(2);
  assert.deepEqual(world.deleted, everything);
});

test("a node that is Ready without having said that it gave back is waited for, and is named after the deadline", async () => {
  const world = new World({ a: "back", b: "ready" });
  const first = await world.looks(4);
  assert.equal(first.overdue, undefined);
  const later = { ...world.remover, stillSeconds: () => 600 };
  Object.assign(world.remover, later);
  const { overdue, again } = await world.look();
  assert.deepEqual(overdue, { waiting: ["b"], seconds: 600 });
  assert.deepEqual(again, { seconds: 30 });
  assert.deepEqual(world.deleted, []);
});

test("the deadline counts from the last progress: nodes that give back one after the other are never overdue", async () => {
  const world = new World({ a: "ready", b: "ready", c: "ready" });
  Object.assign(world.remover, { stillSeconds: stillClock(() => world.seconds) });
  await world.looks(4);
  for (const name of ["a", "b"]) {
    world.seconds += 500;
    world.nodes.set(name, { says: "back" });
    assert.equal((await world.look()).overdue, undefined);
  }
  world.seconds += 600;
  assert.deepEqual((await world.look()).overdue?.waiting, ["c"]);
});

test("an agent's pod that does not end is waited for, and after the deadline the rest is deleted all the same", async () => {
  const world = new World({ a: "back" });
  Object.assign(world.remover, { stillSeconds: stillClock(() => world.seconds) });
  world.ending = ["a"];
  const { step } = await world.looks(5);
  assert.equal(step, "await agents");
  assert.deepEqual(world.deleted, ["daemonSet"]);
  world.seconds += 200;
  assert.deepEqual((await world.look()).again, { seconds: 30 });
  world.seconds += 600;
  assert.equal((await world.look()).abandoned, 1);
  assert.deepEqual(world.deleted, everything);
});
