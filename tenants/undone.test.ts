/**
 * Checks how both sides react when admission or another client undoes their writes. The API server
 * is a fake.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Logger } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { conditionOf } from "#kube/conditions.ts";
import { Engine } from "./engine.ts";
import { managementSide, tenantSide } from "./side.ts";
import { syncSecretsIn } from "./objects.ts";

type Kept = Readonly<{ metadata: Readonly<{ name: string; labels?: object }>; status?: object }>;

const relabel = (object: Kept): Kept => ({
  ...object,
  metadata: {
    ...object.metadata,
    labels: { ...object.metadata.labels, "app.kubernetes.io/managed-by": "platform" },
  },
});

/**
 * The engine of a side with one object, and an API server in which every write creates a new
 * version.
 */
function engineOf(t: TestContext, side: "management" | "tenant") {
  const objects = new Map<string, Kept>();
  const others = { admit: (object: Kept) => object, afterwards: (object: Kept) => object };
  let [version, writes, now] = [1, 0, 0];
  t.mock.method(performance, "now", () => now);
  const keep = (path: string, object: Kept): Kept => {
    version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    objects.set(path, { ...object, metadata });
    return { ...object, metadata };
  };
  const place = (path: string, object: Kept): Kept => {
    writes += 1;
    const reply = keep(path, others.admit(object));
    const after = others.afterwards(reply);
    if (after !== reply) keep(path, after);
    return reply;
  };
  const cluster = {
    get: async (path: string) => objects.get(path),
    pages: async (path: string, _query: object, each: (page: readonly object[]) => void) =>
      each([...objects].filter(([at]) => at.startsWith(`${path}/`)).map(([, object]) => object)),
    patch: async (path: string, body: Kept & { data: object }) => {
      const stored = objects.get(path);
      const metadata = { ...stored?.metadata, ...body.metadata };
      return place(path, { ...stored, data: body.data, immutable: false, metadata } as Kept);
    },
    apply: async (path: string, body: Kept) =>
      path.endsWith("/status")
        ? keep(own, { ...(objects.get(own) ?? body), status: body.status ?? {} })
        : place(path, body),
    remove: async (path: string) => {
      writes += 1;
      objects.delete(path);
    },
  } as unknown as Cluster;
  const own = `${syncSecretsIn("here")}/one`;
  const metadata = {
    name: "one",
    namespace: "here",
    uid: "u",
    generation: 1,
    finalizers: ["globalpullsecret.io/sync-tenant"],
  };
  keep(own, { type: "Opaque", data: { a: "eA==" }, metadata } as Kept);
  const of =
    side === "tenant"
      ? tenantSide({ home: cluster, management: cluster, namespace: "there" })
      : undefined;
  const from = { ...(of ?? managementSide(cluster, "here")), objects: syncSecretsIn("here") };
  const log = { error() {}, info() {}, warn() {}, debug() {} } as unknown as Logger;
  const engine = new Engine(from, log, { looked() {} });
  return {
    others,
    writes: () => writes,
    /** Runs the engine once. Returns when the engine requests the next run. */
    run: () => engine.run(),
    /** Reason and message of the condition Ready. */
    ready: () => {
      const { reason, message } =
        conditionOf((objects.get(own) as SyncSecret).status, "Ready") ?? assert.fail("no status");
      return `${reason} ${message}`;
    },
    /** Lets this many seconds pass, with a run of the engine every 0.2 seconds. */
    pass: async (seconds: number) => {
      for (let remainingRuns = seconds * 5; remainingRuns > 0; remainingRuns -= 1) {
        await engine.run();
        now += 200;
      }
    },
  };
}

/** The side, how admission changes each write, and the maximum of writes in the first minute. */
const admissions = [
  ["management", relabel, 10],
  ["tenant", relabel, 10],
] as const;
for (const [side, admit, most] of admissions)
  test(`${side}: while admission changes its writes (${admit.name}), repeats them after growing pauses`, async (t) => {
    const { others, writes, ready, run, pass } = engineOf(t, side);
    others.admit = admit;
    await pass(60);
    assert.ok(writes() <= most, `${writes()} writes in a minute`);
    assert.match(ready(), /^Refused GPS473: /);
    others.admit = (object) => object;
    await pass(120);
    assert.match(ready(), side === "tenant" ? /^Waiting / : /^Synced /);
    const served = writes();
    await pass(60);
    assert.equal(writes(), served);
    assert.equal(await run(), undefined, "at rest it only waits for a change");
  });

for (const side of ["management", "tenant"] as const)
  test(`${side}: repairs an edit that another client repeats: ten times at once, then once a minute`, async (t) => {
    const { others, writes, ready, pass } = engineOf(t, side);
    others.afterwards = relabel;
    await pass(60);
    assert.ok(writes() >= 10 && writes() <= 12, `${writes()} writes in a minute`);
    assert.match(ready(), /^Refused GPS474: /);
    const quick = writes();
    await pass(600);
    const slow = writes() - quick;
    assert.ok(slow >= 9 && slow <= 11, `${slow} writes in ten minutes`);
    others.afterwards = (object) => object;
    await pass(180);
    assert.match(ready(), side === "tenant" ? /^Waiting / : /^Synced /);
  });
