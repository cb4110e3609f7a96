/**
 * Tests single runs of a FleetSecret. The management cluster is a fake, because a real cluster
 * would need minutes for a thousand namespaces.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { CoreV1Event } from "@kubernetes/client-node";
import type {
  ClusterProfilesSource,
  FleetSecret,
  FleetSecretSpec,
  FleetSecretStatus,
} from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Fleet } from "./fleet.ts";
import { sentence } from "./rules/problems.ts";

/** An empty Secret as the source. */
const empty = () => ({
  secret: { metadata: { resourceVersion: "1" }, type: "Opaque", data: {} },
});

const object: FleetSecret = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "FleetSecret",
  metadata: { name: "one", namespace: "kube-system", uid: "u", generation: 1 },
  spec: {
    secretRef: { name: "source" },
    clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } } },
    target: { name: "pull-secret" },
  },
};

/** A Fleet in this management cluster. It closes when the test ends. */
function fleetIn(
  t: TestContext,
  home: Cluster,
  source: ConstructorParameters<typeof Fleet>[0]["source"] = empty,
): Fleet {
  const fleet = new Fleet({
    home,
    clusterId: "id",
    holds: () => true,
    hint() {},
    log() {},
    source,
  });
  t.after(() => fleet.close());
  return fleet;
}

/**
 * A Fleet with this many selected namespaces, all without kubeconfigs, and the statuses that it
 * writes.
 */
function fleetWith(t: TestContext, count: number): { fleet: Fleet; written: FleetSecretStatus[] } {
  const namespaces = Array.from({ length: count }, (_, n) => ({ metadata: { name: `n${n}` } }));
  const written: FleetSecretStatus[] = [];
  const home = {
    async pages(_path: string, _query: object, each: (page: readonly object[]) => void) {
      each(namespaces);
    },
    async get(path: string) {
      return path.endsWith("/source")
        ? { metadata: { resourceVersion: "1" }, type: "Opaque", data: {} }
        : undefined;
    },
    async apply(path: string, sent: { status: FleetSecretStatus }) {
      if (path.endsWith("/status")) written.push(sent.status);
      return sent;
    },
    async patch() {},
    async create() {},
  } as unknown as Cluster;
  const fleet = fleetIn(t, home);
  return { fleet, written };
}

for (const [count, served, stalled] of [
  [1000, 1000, "Progressing"],
  [1001, 1000, "TooManyClusters"],
] as const)
  test(`serves ${served} of ${count} selected clusters, and reports the object as ${stalled}`, async (t) => {
    const { fleet, written } = fleetWith(t, count);
    await fleet.run(object, [object]);
    const [{ clusters, conditions } = assert.fail("no status was written")] = written;
    assert.equal(clusters?.length, served);
    assert.equal(conditions?.find(({ type }) => type === "Stalled")?.reason, stalled);
  });

test("names only the clusters that refuse the content when it halts", async (t) => {
  const { fleet, written } = fleetWith(t, 2);
  const since = new Date().toISOString();
  const clusters = [
    { name: "n0", state: "Failed", reason: sentence("rejected", "x"), since },
    { name: "n1", state: "Unreachable", reason: sentence("unreachable", "x"), since },
  ] as const;
  const halted = {
    ...object,
    spec: { ...object.spec, rollout: { maxFailures: 0 } },
    status: { sourceResourceVersion: "1", clusters },
  } as unknown as FleetSecret;
  await fleet.run(halted, [halted]);
  const stalled = written.at(-1)?.conditions?.find(({ type }) => type === "Stalled");
  assert.equal(stalled?.reason, "Halted");
  assert.match(stalled.message ?? "", /^GPS441: n0 refuse the content/);
});

test("does not retry the status of an object after it is closed", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let sent = 0;
  const home = {
    async pages() {},
    get: async () => undefined,
    async apply(path: string) {
      sent += 1;
      throw new ApiError({ status: 403, reason: "Forbidden", method: "PATCH", path });
    },
    async patch() {},
    async create() {},
  } as unknown as Cluster;
  const fleet = fleetIn(t, home);
  const retry = async () => {
    await setImmediate();
    t.mock.timers.tick(2000);
    await setImmediate();
  };
  await fleet.run(object, [object]);
  await retry();
  assert.equal(sent, 2);
  fleet.close();
  await retry();
  assert.equal(sent, 2);
});

/** An object whose deadline has passed, and whose only cluster is unreachable. */
const overdue = new Date(Date.now() - 9 * 3_600_000).toISOString();
const leaving: FleetSecret = {
  ...object,
  status: { clusters: [{ name: "gone", state: "Leaving", since: overdue }] },
};

test("lists a given-up cluster in status until it is selected again, even after a restart", async (t) => {
  const { fleet, written } = fleetWith(t, 1);
  while (written.at(-1)?.givenUp === undefined) {
    const { seconds = 0 } = (await fleet.run(leaving, [leaving])) ?? {};
    assert.ok(seconds >= 0 && seconds <= 9 * 3600, `again in ${seconds} s`);
    await setImmediate();
  }
  const status = written.at(-1) ?? assert.fail("no status");
  assert.partialDeepStrictEqual(status.givenUp, [{ name: "gone", reason: "GPS436" }]);
  for (const [name, isKept] of [
    ["gone", true],
    ["n0", false],
  ] as const) {
    const [entry = assert.fail("none is named")] = status.givenUp ?? [];
    const givenUp = [{ ...entry, name }];
    const next = fleetWith(t, 1);
    const later = { ...object, status: { ...status, givenUp, clusters: [] } };
    await next.fleet.run(later, [later]);
    assert.equal(next.written.at(-1)?.givenUp?.[0]?.name, isKept ? "gone" : undefined);
  }
});

test("does not give up an unreachable cluster between the grace period and the deadline", async (t) => {
  const { fleet, written } = fleetWith(t, 1);
  const since = new Date(Date.now() - 600_000).toISOString();
  const early = { ...object, status: { clusters: [{ name: "gone", state: "Leaving", since }] } };
  let seconds: number | undefined;
  while (!(JSON.stringify(written.at(-1)) ?? "").includes("GPS436")) {
    seconds = (await fleet.run(early as FleetSecret, [object]))?.seconds;
    await setImmediate();
  }
  assert.ok(seconds !== undefined && seconds <= 8 * 3600, `again in ${seconds} s`);
  assert.equal(written.at(-1)?.givenUp, undefined);
});

test("counts a cluster's grace from its first run, although each run gets the first stored object", async (t) => {
  const { fleet } = fleetWith(t, 0);
  t.mock.timers.enable({ apis: ["Date"] });
  const clusters = [{ name: "gone", state: "Done" }];
  const stale = { ...object, status: { clusters } } as unknown as FleetSecret;
  const pauses: unknown[] = [];
  for (let run = 0; run < 2; run += 1) {
    pauses.push((await fleet.run(stale, [stale]))?.seconds);
    t.mock.timers.tick(240_000);
  }
  assert.deepEqual(pauses, [300, 60]);
});

/** Without Cluster API's types nothing tells whether a Cluster was deleted. */
async function withoutClusterApi(path: string) {
  if (path.startsWith("/apis/cluster.x-k8s.io"))
    throw new ApiError({ status: 404, reason: "NotFound", method: "GET", path });
}

for (const managementState of ["Managed", "Paused"] as const)
  test(`completes the deletion of a ${managementState} object at the deadline, once the Event about its unreachable cluster is written`, async (t) => {
    const answered: unknown[] = [];
    const home = {
      pages: withoutClusterApi,
      get: async () => undefined,
      async apply() {},
      async patch(_: string, { metadata }: FleetSecret) {
        answered.push(metadata.finalizers);
      },
      async create() {
        await setImmediate();
        answered.push("Event");
      },
    } as unknown as Cluster;
    const fleet = fleetIn(t, home);
    const fleetSecret: FleetSecret = {
      ...leaving,
      metadata: {
        ...leaving.metadata,
        deletionTimestamp: new Date(overdue),
        finalizers: ["globalpullsecret.io/fleet"],
      },
      spec: { ...object.spec, managementState },
    };
    for (let run = 0; run < 50 && answered.length === 0; run += 1) {
      await fleet.run(fleetSecret, [fleetSecret]);
      await setImmediate();
    }
    assert.deepEqual(answered, ["Event", []]);
  });

const byName = { clusterNameLabelValue: "Name" } as const;
const byLabel = { clusterSelector: { matchLabels: { c: "d" } } } as const;
for (const [what, clusterAPI, hasKubeconfig, isForgotten] of [
  ["Clusters by name", byName, true, true],
  ["Clusters by label", byLabel, true, true],
  ["namespaces", {}, true, false],
  ["namespaces", {}, false, true],
] as const)
  test(`if it selects ${what}, ${isForgotten ? "forgets" : "keeps"} a leaving cluster that has ${hasKubeconfig ? "a" : "no"} kubeconfig and no Cluster`, async (t) => {
    const written: FleetSecretStatus[] = [];
    const home = {
      async pages() {},
      get: async () => (hasKubeconfig ? { data: { value: "eA==" } } : undefined),
      async apply(_: string, { status = {} }: FleetSecret) {
        written.push(status);
        return object;
      },
      async patch() {},
    } as unknown as Cluster;
    const fleet = fleetIn(t, home);
    const since = new Date(Date.now() - 600_000).toISOString();
    const moved: FleetSecret = {
      ...object,
      spec: { ...object.spec, clusterAPI: { namespaceSelector: {}, ...clusterAPI } },
      status: { clusters: [{ name: "gone", state: "Leaving", since }] },
    };
    const isAwaited = () => isForgotten && written.at(-1)?.clusters?.length !== 0;
    for (let run = 0; run < 20 || isAwaited(); run += 1) {
      await fleet.run(moved, [moved]);
      await setImmediate();
    }
    const { clusters = [], givenUp } = written.at(-1) ?? assert.fail("no status");
    assert.deepEqual([clusters.length, givenUp], [isForgotten ? 0 : 1, undefined]);
  });

test("when it gives up a cluster at the deadline, reports this in an Event on the object", async (t) => {
  const events: CoreV1Event[] = [];
  const home = {
    pages: withoutClusterApi,
    get: async () => undefined,
    async apply() {},
    async patch() {},
    create: async (_path: string, event: CoreV1Event) => void events.push(event),
  } as unknown as Cluster;
  const fleet = fleetIn(t, home);
  while (events.length === 0) {
    await fleet.run(leaving, [leaving]);
    await setImmediate();
  }
  const [event] = events;
  assert.deepEqual(
    [event?.involvedObject.kind, event?.involvedObject.name, event?.reason, event?.type],
    ["FleetSecret", "one", "ClusterGivenUp", "Warning"],
  );
  assert.match(event?.message ?? "", /^gone: given up: it may keep the Secret; GPS436/);
});

/**
 * Runs the object once, and returns what it wrote. Each read of its source fails with this HTTP
 * status.
 */
async function withoutSource(t: TestContext, status: number, metadata: object) {
  const written: Record<string, unknown>[] = [];
  const home = {
    async pages() {},
    async get() {},
    apply: async (path: string, body: object) => void written.push({ path, ...body }),
    patch: async (path: string, body: object) => void written.push({ path, ...body }),
  } as unknown as Cluster;
  const fleet = fleetIn(
    t,
    home,
    () => new ApiError({ status, reason: "Refused", method: "LIST", path: "source" }),
  );
  const its = { status: { sourceResourceVersion: "7" } };
  const fleetSecret = { ...object, ...its, metadata: { ...object.metadata, ...metadata } };
  const again = await fleet.run(fleetSecret, [fleetSecret]);
  return { written, again };
}

for (const status of [0, 400, 403, 404, 503])
  test(`when the read of a source fails with ${status}, reports this and reads again within 5 seconds`, async (t) => {
    const { written, again } = await withoutSource(t, status, {});
    const { conditions, sourceResourceVersion } = (written.at(-1) ?? assert.fail("no status"))
      .status as FleetSecretStatus;
    assert.equal(sourceResourceVersion, "7");
    const stalled = conditions?.find(({ type }) => type === "Stalled");
    assert.deepEqual([stalled?.status, stalled?.reason], ["True", "SourceUnreadable"]);
    assert.match(stalled?.message ?? "", /^GPS443: /);
    assert.ok(again && again.seconds <= 5);
  });

for (const status of [0, 400, 403, 404, 503])
  test(`when the inventory answers ${status}, reports this, changes nothing, and reads again within 5 seconds`, async (t) => {
    const written: FleetSecretStatus[] = [];
    const home = {
      async pages(path: string) {
        throw new ApiError({ status, reason: "Refused", method: "GET", path });
      },
      async apply(_: string, body: { status: FleetSecretStatus }) {
        written.push(body.status);
      },
      async patch() {},
    } as unknown as Cluster;
    const fleet = fleetIn(t, home);
    const again = await fleet.run(leaving, [leaving]);
    const { conditions, clusters } = written.at(-1) ?? assert.fail("no status");
    const stalled = conditions?.find(({ type }) => type === "Stalled");
    assert.deepEqual([stalled?.status, stalled?.reason], ["True", "InventoryUnreadable"]);
    assert.deepEqual(clusters, leaving.status?.clusters);
    assert.ok(again && again.seconds <= 5);
  });

test("completes the deletion of an object whose source cannot be read", async (t) => {
  const metadata = {
    deletionTimestamp: new Date(),
    finalizers: ["globalpullsecret.io/fleet"],
  };
  const { written } = await withoutSource(t, 403, metadata);
  assert.deepEqual(
    written.map((write) => write.metadata),
    [{ uid: "u", resourceVersion: "", finalizers: [] }],
  );
});

const joined = {
  namespaces: ["global-pull-secret-clusters"],
  selector: { matchLabels: { tier: "prod" } },
  clusterManagers: ["globalpullsecret.io"],
};

/**
 * Runs the fleet once for one FleetSecret, and returns its first write. The FleetSecret has placed
 * a Secret in a cluster whose profile has the label that `fleet remove` sets.
 */
async function duringRemoval(
  t: TestContext,
  { namespaces: [namespace = ""], clusterManagers: [manager = ""] }: ClusterProfilesSource,
  { metadata, spec }: Readonly<{ metadata?: object; spec: Partial<FleetSecretSpec> }>,
): Promise<FleetSecret> {
  const written: FleetSecret[] = [];
  const profile = { metadata: { name: "east" }, spec: { clusterManager: { name: manager } } };
  const home = {
    async pages(
      path: string,
      { labelSelector = "" }: Record<string, string>,
      each: (page: readonly object[]) => void,
    ) {
      const isLeft = labelSelector.includes("!globalpullsecret.io/leaving");
      const isThere = path.endsWith(`/namespaces/${namespace}/clusterprofiles`);
      each(isThere && !isLeft ? [profile] : []);
    },
    get: async () => ({ metadata: { resourceVersion: "1" }, type: "Opaque", data: {} }),
    apply: async (_: string, body: FleetSecret) => void written.push(body),
    patch: async (_: string, body: FleetSecret) => void written.push(body),
  } as unknown as Cluster;
  const fleet = fleetIn(t, home);
  const { clusterAPI: _, ...others } = object.spec;
  const since = new Date().toISOString();
  const fleetSecret: FleetSecret = {
    ...object,
    metadata: { ...object.metadata, finalizers: ["globalpullsecret.io/fleet"], ...metadata },
    spec: { ...others, ...spec },
    status: { clusters: [{ name: `${namespace}/east`, state: "Done", since }] },
  };
  await fleet.run(fleetSecret, [fleetSecret]);
  return written[0] ?? assert.fail("nothing was written");
}

for (const [what, metadata, spec] of [
  ["that is served", {}, { clusterProfiles: joined }],
  ["that is Paused", {}, { clusterProfiles: joined, managementState: "Paused" }],
  ["that is deleted", { deletionTimestamp: new Date() }, { clusterProfiles: joined }],
  ["whose spec was edited and selects no joined cluster", {}, object.spec],
] as const)
  test(`in an object ${what}, forgets a cluster at once if its profile has the label of fleet remove`, async (t) => {
    const { status, metadata: its } = await duringRemoval(t, joined, { metadata, spec });
    if ("deletionTimestamp" in metadata)
      assert.deepEqual([status, its.finalizers], [undefined, []]);
    else assert.deepEqual([status?.clusters, status?.givenUp], [[], undefined]);
  });

for (const [what, other] of [
  ["of another manager", { clusterManagers: ["other.example"] }],
  ["in another namespace", { namespaces: ["theirs"] }],
] as const)
  test(`keeps a cluster ${what} in status, even if its profile has the label of fleet remove`, async (t) => {
    const profiles = { ...joined, ...other };
    const { status } = await duringRemoval(t, profiles, { spec: { clusterProfiles: profiles } });
    assert.deepEqual(
      status?.clusters?.map(({ state }) => state),
      ["Leaving"],
    );
  });

test("completes the deletion of an object whose inventory does not exist any more", async (t) => {
  const written: FleetSecret[] = [];
  const home = {
    pages: async (path: string) =>
      await Promise.reject(new ApiError({ status: 404, reason: "NotFound", method: "GET", path })),
    get: async () => undefined,
    async patch(_: string, body: FleetSecret) {
      written.push(body);
    },
    async create() {},
  } as unknown as Cluster;
  const fleet = fleetIn(t, home);
  const { clusterAPI: _, ...spec } = object.spec;
  const fleetSecret: FleetSecret = {
    ...leaving,
    metadata: {
      ...leaving.metadata,
      deletionTimestamp: new Date(overdue),
      finalizers: ["globalpullsecret.io/fleet"],
    },
    spec: { ...spec, clusterProfiles: { namespaces: ["x"], selector: {}, clusterManagers: ["y"] } },
  };
  for (let run = 0; run < 50 && written.length === 0; run += 1) {
    await fleet.run(fleetSecret, [fleetSecret]);
    await setImmediate();
  }
  assert.deepEqual(
    written.map(({ metadata }) => metadata.finalizers),
    [[]],
  );
});
