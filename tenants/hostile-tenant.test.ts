/** A tenant that floods the management cluster. The API servers are fakes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { allSyncSecrets, secretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import { openMeters } from "#runtime/metrics.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { Engine } from "./engine.ts";
import { createExcess } from "./metrics.ts";
import { syncSecretsIn } from "./objects.ts";
import { Reconciler } from "./reconcile.ts";
import { managementSide, tenantSide } from "./side.ts";
import { serveTenants } from "./tenants.ts";

const quiet = pino({ level: "silent" });
const definition = readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8");

/** A management cluster. `copyIn` creates a copy in a tenant's namespace, as the tenant does. */
function managementOf() {
  const api = new FakeApi();
  api.store.define(definition);
  const cluster = directly(api, "global-pull-secret-sync");
  const copyIn = async (namespace: string, name: string, annotations: object = {}) => {
    const body = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "SyncSecret",
      metadata: { name, namespace, annotations },
      data: { a: "eA==" },
    };
    return await cluster.create<SyncSecret>(syncSecretsIn(namespace), body);
  };
  const secretOf = ({ metadata: { namespace = "", uid } }: SyncSecret) =>
    api.object<{ data?: object }>(`${secretsIn(namespace)}/${uid}`);
  return { api, cluster, copyIn, secretOf };
}

/**
 * Empty annotations. Kubernetes allows about 45,000. 7,000 are too many for a page of 20,000
 * values, because each counts once in annotations, and twice in managedFields.
 */
const annotationsOf = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, ""]));

test("remembers nothing of an object that is gone, and everything of the others", () => {
  const reconciler = new Reconciler(managementSide(managementOf().cluster, "tenant-a"), quiet);
  for (const uid of ["gone", "stays"]) reconciler.recordOf({ uid }).seen = "1";
  reconciler.keep(new Set(["stays"]));
  assert.equal(reconciler.recordOf({ uid: "gone" }).seen, "");
  assert.equal(reconciler.recordOf({ uid: "stays" }).seen, "1");
});

test("L2: keeps no annotation of a tenant, leaves out an object whose metadata is too large, and reports it once", async () => {
  const { cluster, copyIn, secretOf } = managementOf();
  await copyIn("tenant-a", "huge", annotationsOf(7000));
  const copy = await copyIn("tenant-a", "small", annotationsOf(1000));
  const reported: string[] = [];
  const side = managementSide(cluster, "tenant-a", {
    exceeded: async (_, message) => void reported.push(message),
  });
  const engine = new Engine(side, quiet, { looked() {} });
  for (let run = 0; run < 4; run += 1) await engine.run();
  assert.ok(secretOf(copy), "the other object is served");
  const kept = JSON.stringify(await engine.objects.all());
  assert.ok(kept.length < 2000, `${kept.length} bytes are kept`);
  assert.equal(reported.length, 1);
  assert.match(reported[0] ?? "", /^GPS482: the metadata of huge is larger/);
});

const objectNamed = (name: string): KubernetesObject => ({
  metadata: { namespace: "tenant-a", name, uid: name, resourceVersion: "1" },
});
const tooMany = Array.from({ length: 10_001 }, (_, at) => objectNamed(`a${at}`));

type Flood = Readonly<{ is: string; code: string; isFollowed: boolean; changes?: number }>;
const floods: Readonly<Record<string, Flood>> = {
  "more objects in a list than it serves": { is: "many", code: "GPS483", isFollowed: false },
  "more objects behind a watch than it serves": { is: "many", code: "GPS483", isFollowed: true },
  "faster changes than it reads": {
    is: "fast",
    code: "GPS484",
    isFollowed: true,
    changes: 40_000,
  },
};
for (const [what, { is, code, isFollowed, changes = 0 }] of Object.entries(floods))
  test(`L2: counts and logs ${what}, with ${code}`, async (t) => {
    const { cluster } = managementOf();
    const pages: Cluster["pages"] = async (_path, _query, take) => {
      take((is === "many" ? tooMany : []) as [], "1");
    };
    const line = JSON.stringify({ type: "MODIFIED", object: objectNamed("a") });
    const stream: Cluster["stream"] = async (_path, _query, signal, take) => {
      for (let at = 0; at < changes; at += 1) take(line);
      await once(signal, "abort");
    };
    const logged: string[] = [];
    const log = pino({}, { write: (text: string) => void logged.push(text) });
    const meters = openMeters();
    const exceeded = createExcess(cluster, meters)("tenant-a");
    const side = managementSide({ ...cluster, pages, stream }, "tenant-a", { exceeded });
    const { objects } = new Engine(side, log, { looked() {} });
    const stop = new AbortController();
    const followed = { hint() {}, failed: assert.fail, signal: stop.signal };
    const ended = isFollowed ? objects.until(followed) : objects.all();
    t.after(async () => {
      stop.abort();
      await ended;
    });
    await until(`${code} is logged`, () => logged.some((text) => text.includes(`"${code}: `)));
    assert.match(
      await meters.registry.metrics(),
      new RegExp(`^\\w+_left_out_total\\{namespace="tenant-a",excess="${is}"\\} 1$`, "m"),
    );
  });

/** Serves the tenants until the test ends. */
function serve(t: TestContext, cluster: ReturnType<typeof managementOf>["cluster"], log = quiet) {
  const stop = new AbortController();
  const meters = openMeters();
  const ended = serveTenants(cluster, log, meters).until(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return meters;
}

test("L25: serves an object of one tenant, and a changed object, long before the 400 objects that another tenant has created", async (t) => {
  const { api, cluster, copyIn, secretOf } = managementOf();
  for (const name of ["tenant-a", "tenant-b"]) {
    const labels = { "globalpullsecret.io/tenant": name };
    const metadata = { name, labels };
    await cluster.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  }
  const flood: SyncSecret[] = [];
  for (let at = 0; at < 400; at += 1) flood.push(await copyIn("tenant-a", `flood-${at}`));
  const meters = serve(t, cluster);
  await until("the flood is served", () => flood.some((copy) => secretOf(copy) !== undefined), {
    every: 5,
  });
  const copy = await copyIn("tenant-b", "one");
  const servedBefore = flood.filter((each) => secretOf(each) !== undefined).length;
  await until("the other tenant is served", () => secretOf(copy) !== undefined);
  const created = api.asked.filter(
    ({ verb, resource }) => verb === "create" && resource === "secrets",
  );
  const turn = created.findIndex(({ namespace }) => namespace === "tenant-b");
  const before = created.slice(0, turn).length - servedBefore;
  assert.ok(before < 200, `${before} Secrets of the flood came first`);
  // A change of an object that was in sync does not wait for the rest of the flood either.
  const [first = assert.fail("no flood")] = flood;
  const { metadata } = api.object<SyncSecret>(`${syncSecretsIn("tenant-a")}/flood-0`) ?? first;
  const { uid = "", resourceVersion = "" } = metadata;
  const path = `${syncSecretsIn("tenant-a")}/flood-0`;
  await cluster.patch(path, { metadata: { uid, resourceVersion }, data: { a: "bmV3" } });
  await until(
    "the change arrives",
    () =>
      secretOf(first)?.data !== undefined && JSON.stringify(secretOf(first)?.data).includes("bmV3"),
  );
  assert.match(
    await meters.registry.metrics(),
    /^global_pull_secret_sync_runs_total\{namespace="tenant-a",result="success"\} /m,
  );
});

test("serves a namespace from when it gets the tenant's label until it loses the label", async (t) => {
  const { api, cluster, copyIn, secretOf } = managementOf();
  const tenant = "globalpullsecret.io/tenant";
  const create = async (name: string) =>
    await cluster.create("/api/v1/namespaces", { metadata: { name, labels: { [tenant]: name } } });
  const label = async (name: string, tenantName: string | null) => {
    const path = `/api/v1/namespaces/${name}`;
    const { metadata } = api.object<SyncSecret>(path) ?? assert.fail("no namespace");
    const { uid = "", resourceVersion = "" } = metadata;
    const labels = { [tenant]: tenantName };
    await cluster.patch(path, { metadata: { uid, resourceVersion, labels } });
  };
  const logged: string[] = [];
  const linesOf = (name: string) =>
    logged
      .map((line) => JSON.parse(line) as { namespace?: string; msg: string })
      .filter(({ namespace, msg }) => namespace === name && /tenant's namespace/.test(msg))
      .map(({ msg }) => msg);
  const [begins, ends] = [
    "a tenant's namespace is served",
    "no longer a tenant's namespace: nothing is changed there",
  ];
  const log = pino({}, { write: (text: string) => void logged.push(text) });
  for (const name of ["stays", "leaves"]) await create(name);
  serve(t, cluster, log);
  const isServed = async (name: string, copy: SyncSecret) =>
    await until(`${name} is served`, () => secretOf(copy) !== undefined, { timeout: 10_000 });
  for (const name of ["stays", "leaves"]) await isServed(name, await copyIn(name, "first"));
  await label("leaves", null);
  await until("it ends", () => linesOf("leaves").includes(ends), { timeout: 10_000 });
  const copy = await copyIn("leaves", "second");
  await isServed("stays", await copyIn("stays", "second"));
  assert.equal(secretOf(copy), undefined);
  await create("late");
  await isServed("late", await copyIn("late", "first"));
  await label("leaves", "leaves");
  await isServed("leaves", copy);
  assert.deepEqual(["stays", "leaves", "late"].map(linesOf), [
    [begins],
    [begins, ends, begins],
    [begins],
  ]);
});

test("does not end before the running work on each tenant's objects has ended", async () => {
  const { cluster, copyIn } = managementOf();
  const labels = { "globalpullsecret.io/tenant": "tenant-a" };
  const metadata = { name: "tenant-a", labels };
  await cluster.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  await copyIn("tenant-a", "one");
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const get: Cluster["get"] = async (path, options) => {
    if (path.endsWith("/one")) {
      begun.resolve();
      await released.promise;
    }
    return await cluster.get(path, options);
  };
  const stop = new AbortController();
  let hasEnded = false;
  const ended = serveTenants({ ...cluster, get }, quiet, openMeters())
    .until(stop.signal)
    .then(() => (hasEnded = true));
  await begun.promise;
  stop.abort();
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  assert.ok(!hasEnded);
  released.resolve();
  await ended;
});

/** The tenant's side with `count` objects in sync. */
async function tenantOf(t: TestContext, count: number) {
  const { api: management, cluster: there } = managementOf();
  const { api: home, cluster: here, copyIn } = managementOf();
  await here.create("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-system" },
  });
  for (let at = 0; at < count; at += 1) await copyIn("default", `s${at}`);
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  /** Objects of other users, which come first in a list. */
  const crowd: KubernetesObject[] = [];
  const pages: Cluster["pages"] = async (path, query, take, how) => {
    if (path === allSyncSecrets) take(crowd as [], "1");
    await here.pages(path, query, take, how);
  };
  const crowded = { ...here, pages };
  const side = tenantSide({ home: crowded, management: there, namespace: "tenant-a" });
  const engine = new Engine(side, quiet, { looked() {} });
  const other = new Engine(managementSide(there, "tenant-a"), quiet, { looked() {} });
  const pass = async (seconds: number) => {
    now += seconds * 1000;
    await engine.run().catch(() => undefined);
  };
  for (let run = 0; run < 4; run += 1) {
    await pass(1);
    await other.run();
  }
  const ready = (name = "s0") =>
    conditionOf(home.object<SyncSecret>(`${syncSecretsIn("default")}/${name}`)?.status, "Ready");
  assert.equal(ready()?.status, "True");
  home.asked.length = 0;
  return { home, management, crowd, here, pass, ready };
}

test("L17: deletes no copy whose object is only left out of a list that is too long or too large", async (t) => {
  const { management, crowd, here, pass } = await tenantOf(t, 1);
  const path = `${syncSecretsIn("default")}/s0`;
  const object = async () => (await here.get<SyncSecret>(path))?.metadata;
  const copy = `${syncSecretsIn("tenant-a")}/${(await object())?.uid}`;
  crowd.push(...tooMany);
  for (let hour = 0; hour < 2; hour += 1) await pass(3601);
  assert.ok(management.object(copy), "with a long list");
  crowd.length = 0;
  const { uid = "", resourceVersion = "" } = (await object()) ?? {};
  const annotations = annotationsOf(7000);
  await here.patch(path, { metadata: { uid, resourceVersion, annotations } });
  for (let hour = 0; hour < 2; hour += 1) await pass(3601);
  assert.ok(management.object(copy), "with a large object");
});

test("L26: reads no content while the management cluster is away, and each object once when its status is no longer true", async (t) => {
  const { home, management, pass, ready } = await tenantOf(t, 20);
  management.refuses = () => refuse(503, "ServiceUnavailable", "down");
  const reads = () =>
    home.asked.filter(({ name, verb }) => verb === "get" && /^s\d/.test(name)).length;
  for (let retry = 0; retry < 9; retry += 1) await pass(60);
  assert.equal(reads(), 0);
  assert.equal(ready()?.status, "True");
  for (let retry = 0; retry < 9; retry += 1) await pass(60);
  assert.equal(reads(), 20);
  assert.deepEqual([ready()?.status, ready()?.reason], ["Unknown", "Unreachable"]);
  management.refuses = () => undefined;
  await pass(60);
  await pass(1);
  assert.deepEqual([ready()?.status, ready()?.reason], ["True", "Synced"]);
});

test("L31: reports each object as Unknown at once when the management cluster refuses the token", async (t) => {
  const { management, pass, ready } = await tenantOf(t, 2);
  management.refuses = () => refuse(401, "Unauthorized", "no");
  await pass(1);
  for (const name of ["s0", "s1"])
    assert.deepEqual([ready(name)?.status, ready(name)?.reason], ["Unknown", "Denied"]);
  assert.match(ready()?.message ?? "", /^GPS481: /);
});
