/** Checks the engine's pauses, deletions and reports. The clusters are fakes. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { readFileSync } from "node:fs";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { pino, type Logger } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster, Replacing } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import { fenced } from "#runtime/fenced-client.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { Engine } from "./engine.ts";
import { managementSide, tenantSide, type Side } from "./side.ts";
import { syncSecretsIn } from "./objects.ts";

test("does not lengthen the pause after a failure when the system clock is set back", async (t) => {
  const metadata = { name: "one", namespace: "default", uid: "u", resourceVersion: "1" };
  const cluster = {
    async pages(path: string, _query: object, each: (page: readonly object[]) => void) {
      each(path === "objects" ? [{ metadata }] : []);
    },
    get: () => Promise.reject(new Error("scripted")),
  } as unknown as Cluster;
  const side = {
    from: cluster,
    to: cluster,
    objects: "objects",
    results: "results",
  } as unknown as Side;
  const log = { error() {} } as unknown as Logger;
  const engine = new Engine(side, log, { looked() {} });
  t.mock.timers.enable({ apis: ["Date"], now: Date.parse("2999-01-01") });
  const seconds = async () => ((await engine.run()) || undefined)?.seconds;
  const pause = (await seconds()) ?? assert.fail("it did not fail");
  t.mock.timers.setTime(Date.parse("2026-01-01"));
  const again = (await seconds()) ?? assert.fail("it is not tried again");
  assert.ok(again <= pause, `${again} s after ${pause} s`);
});

const silent = pino({ level: "silent" });

type Stored = Readonly<{ metadata: V1ObjectMeta }>;

/** Both clusters of a tenant, in memory. */
function pairOf() {
  const yaml = readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8");
  const [home, management] = [new FakeApi(), new FakeApi()];
  for (const api of [home, management]) api.store.define(yaml);
  const [here, managementClient] = [home, management].map((api) =>
    fenced(directly(api, "global-pull-secret-sync"), () => true),
  ) as [Replacing, Replacing];
  const object = (path: string) => home.object<Stored>(`${syncSecretsIn("default")}/${path}`);
  const create = async (name: string, finalizers: readonly string[] = []) => {
    const metadata = { name, namespace: "default", finalizers };
    await here.create(syncSecretsIn("default"), {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "SyncSecret",
      metadata,
      data: { a: "eA==" },
    });
  };
  return { home, management, here, there: managementClient, object, create };
}
const quiet = pino({ level: "silent" });

test("on the tenant's side, deletes a copy in the foreground, so that the copy's Secret is deleted first", async () => {
  const { management, here, there: managementClient, object, create } = pairOf();
  await create("one");
  const engine = new Engine(
    tenantSide({ home: here, management: managementClient, namespace: "tenant-a" }),
    quiet,
    { looked() {} },
  );
  await engine.run();
  await here.remove(`${syncSecretsIn("default")}/one`, object("one")?.metadata.uid ?? "");
  await engine.run();
  const deleted = management.asked.find(({ verb }) => verb === "delete");
  assert.partialDeepStrictEqual(deleted?.body, { propagationPolicy: "Foreground" });
  await engine.run();
  await engine.run();
  assert.equal(object("one"), undefined);
});

test("reports in seconds how long the work on an object has taken", async (t) => {
  const { here, create } = pairOf();
  await create("one");
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const taken: number[] = [];
  const get: Cluster["get"] = async (path, options) => {
    now += 2500;
    return await here.get(path, options);
  };
  const looked = (_: string, __: string, seconds: number) => void taken.push(seconds);
  await new Engine(managementSide({ ...here, get }, "default"), quiet, { looked }).run();
  assert.deepEqual(taken, [now / 1000]);
});

test("starts no object after the first second of a run, and starts the next run at once", async (t) => {
  const { here, create } = pairOf();
  for (let count = 0; count < 40; count += 1) await create(`o${count}`);
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const before = new Engine(managementSide(here, "default"), quiet, { looked() {} });
  while (((await before.run()) || undefined)?.seconds === 0);
  const outcomes: string[] = [];
  const get: Cluster["get"] = async (path, options) => {
    now += 150;
    return await here.get(path, options);
  };
  // Each object was in sync before the process started again, so no write causes the next run.
  const engine = new Engine(managementSide({ ...here, get }, "default"), quiet, {
    looked: (_, outcome) => void outcomes.push(outcome),
  });
  const shares: number[] = [];
  while (outcomes.length < 40) {
    const [begun, since] = [outcomes.length, now];
    const again = await engine.run();
    shares.push(outcomes.length - begun);
    assert.ok(now - since < 3000, `a run of ${now - since} ms`);
    assert.equal((again || undefined)?.seconds === 0, outcomes.length < 40);
  }
  assert.ok(shares.length >= 3, shares.join());
});

test("on the management side, adds no finalizer to a copy", async () => {
  const { here, object, create } = pairOf();
  await create("one");
  await new Engine(managementSide(here, "default"), quiet, { looked() {} }).run();
  assert.deepEqual(object("one")?.metadata.finalizers ?? [], []);
});

/** `cluster`, but `change` runs once, directly before the first write of a status. */
function changedBeforeStatus(cluster: Cluster, change: () => Promise<unknown>): Cluster {
  let isDue = true;
  return {
    ...cluster,
    async apply(path, body, options) {
      if (isDue && path.endsWith("/status")) {
        isDue = false;
        await change();
      }
      return await cluster.apply(path, body, options);
    },
  };
}

for (const side of ["tenant's", "management"] as const)
  test(`on the ${side} side, sees an edit that comes between the read of an object and the write of its status`, async () => {
    const { home, management, here, there: managementClient, object, create } = pairOf();
    await create("one");
    const { uid = "" } = object("one")?.metadata ?? {};
    const edited = changedBeforeStatus(here, async () => {
      const { resourceVersion = "" } = object("one")?.metadata ?? {};
      const path = `${syncSecretsIn("default")}/one`;
      await here.patch(path, { metadata: { uid, resourceVersion }, data: { a: "bmV3" } });
    });
    const engine = new Engine(
      side === "management"
        ? managementSide(edited, "default")
        : tenantSide({ home: edited, management: managementClient, namespace: "tenant-a" }),
      quiet,
      { looked() {} },
    );
    for (let run = 0; run < 6; run += 1) await engine.run();
    const result =
      side === "management"
        ? home.object<SyncSecret>(`${secretsIn("default")}/${uid}`)
        : management.object<SyncSecret>(`${syncSecretsIn("tenant-a")}/${uid}`);
    assert.deepEqual(result?.data, { a: "bmV3" });
  });

test("on the tenant's side, sees a deletion that comes between the read of an object and the write of its status", async () => {
  const { management, here, there: managementClient, object, create } = pairOf();
  await create("one");
  const { uid = "" } = object("one")?.metadata ?? {};
  const deleted = changedBeforeStatus(here, () =>
    here.remove(`${syncSecretsIn("default")}/one`, uid),
  );
  const engine = new Engine(
    tenantSide({ home: deleted, management: managementClient, namespace: "tenant-a" }),
    quiet,
    { looked() {} },
  );
  for (let run = 0; run < 6; run += 1) await engine.run();
  assert.equal(management.object(`${syncSecretsIn("tenant-a")}/${uid}`), undefined);
  assert.equal(object("one"), undefined);
});

test("sets the condition Warning on each of the tenant's objects until a token that ends soon is renewed", async () => {
  const { home, here, there: managementClient, create } = pairOf();
  await create("one");
  let warning: string | undefined;
  const side = tenantSide({
    home: here,
    management: managementClient,
    namespace: "tenant-a",
    warning: () => warning,
  });
  const engine = new Engine(side, quiet, { looked() {} });
  const path = `${syncSecretsIn("default")}/one`;
  const said = () => conditionOf(home.object<SyncSecret>(path)?.status, "Warning");
  for (let run = 0; run < 3; run += 1) await engine.run();
  assert.equal(said(), undefined);
  warning = "GPS477: it ends";
  await engine.run();
  assert.deepEqual([said()?.status, said()?.reason], ["True", "TokenEnds"]);
  assert.match(said()?.message ?? "", /^GPS477: it ends/);
  warning = undefined;
  await engine.run();
  assert.deepEqual([said()?.status, said()?.reason], ["False", "None"]);
});

/**
 * The tenant's side with one object, which has these finalizers of others, and its copy. `leave`
 * deletes the object. `pass` lets time pass. `restart` replaces the process.
 */
async function leaving(t: TestContext, finalizers: readonly string[] = []) {
  const pair = pairOf();
  const { management, here, there: managementClient, object, create } = pair;
  // Whole numbers avoid rounding.
  let now = Math.ceil(performance.now());
  t.mock.method(performance, "now", () => now);
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const metadata = { name: "kube-system" };
  await here.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  const reported: string[] = [];
  /** While true, the tenant's cluster lists no object, as if a backup were not restored yet. */
  let hidden = false;
  const hide = (isHidden: boolean) => (hidden = isHidden);
  const pages: Cluster["pages"] = async (path, query, each, how) =>
    await here.pages(path, query, hidden ? () => {} : each, how);
  /** While true, the answers to patches in the tenant's cluster are lost. */
  let isLost = false;
  const loseAnswers = (isNowLost: boolean) => (isLost = isNowLost);
  const patch: Cluster["patch"] = async (path, ...more) => {
    const patched = await here.patch(path, ...more);
    if (isLost) throw new ApiError({ status: 0, reason: "Lost", method: "PATCH", path });
    return patched as never;
  };
  const side = tenantSide({
    home: { ...here, pages, patch },
    management: managementClient,
    namespace: "tenant-a",
    leftBehind: async (_, message) => void reported.push(message),
  });
  /** The errors of the warnings in the log. */
  const warned: string[] = [];
  const write = (line: string) => {
    const { level, error = "" } = JSON.parse(line) as { level: number; error?: string };
    if (level === 40) warned.push(error);
  };
  const log = pino({}, { write });
  let engine = new Engine(side, log, { looked() {} });
  const restart = () => (engine = new Engine(side, log, { looked() {} }));
  const run = () => engine.run().catch(() => undefined);
  await create("one", finalizers);
  await run();
  const uid = object("one")?.metadata.uid ?? "";
  const copy = () => management.object<Stored>(`${syncSecretsIn("tenant-a")}/${uid}`);
  assert.ok(copy());
  /** Returns in how many seconds the next run is due, if any. */
  const pass = async (seconds: number) => {
    now += Math.round(seconds * 1000);
    t.mock.timers.setTime(Date.now() + seconds * 1000);
    return ((await run()) || undefined)?.seconds;
  };
  const leave = async () => {
    await here.remove(`${syncSecretsIn("default")}/one`, uid);
    await run();
  };
  return { ...pair, reported, warned, copy, hide, loseAnswers, pass, leave, restart };
}

const reasons: readonly (readonly [what: string, status: number, reason: string])[] = [
  ["the tenant's namespace and account are gone", 401, "Unauthorized"],
  ["the tenant's rights are gone", 403, "Forbidden"],
  ["the CRD is gone", 404, "NotFound"],
  ["the cluster does not work", 500, "InternalError"],
];
for (const [what, status, reason] of reasons)
  test(`L20: if ${what} in the management cluster, completes a deletion at the deadline, and deletes the copy later`, async (t) => {
    const { management, object, reported, copy, pass, leave } = await leaving(t);
    management.refuses = () => refuse(status, reason, "no");
    await leave();
    await pass(3500);
    assert.ok(object("one"), "it waits until the deadline");
    await pass(101);
    assert.equal(object("one"), undefined);
    assert.equal(reported.length, 1);
    assert.match(reported[0] ?? "", /^GPS478: /);
    assert.ok(copy());
    management.refuses = () => undefined;
    await pass(1);
    // The copy stays for another hour, because the object might come back from a backup.
    await pass(3500);
    assert.ok(copy(), "the object has time to come back");
    await pass(101);
    assert.equal(copy(), undefined);
  });

/** What is due later, how it comes to that, and the requests that then follow. */
const later: readonly (readonly [
  what: string,
  begin: (pair: Awaited<ReturnType<typeof leaving>>) => Promise<void>,
  request: Readonly<{ cluster: "home" | "management"; verb: string; resource: string }>,
])[] = [
  [
    "deletes a copy without its object",
    async ({ hide }) => void hide(true),
    { cluster: "management", verb: "delete", resource: "globalpullsecret.io/syncsecrets" },
  ],
  [
    "reads a Secret that an object names",
    async ({ here }) => {
      const metadata = { name: "two", namespace: "default" };
      const body = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "SyncSecret", metadata };
      await here.create(syncSecretsIn("default"), { ...body, secretRef: { name: "tls" } });
    },
    { cluster: "home", verb: "get", resource: "secrets" },
  ],
  [
    "repeats a write that failed",
    async ({ management, create }) => {
      management.refuses = (_, verb) =>
        verb === "patch" ? refuse(500, "InternalError", "no") : undefined;
      await create("two");
    },
    { cluster: "management", verb: "patch", resource: "globalpullsecret.io/syncsecrets" },
  ],
];
for (const [what, begin, { cluster, verb, resource }] of later)
  test(`${what} when the pause that a run requests is over, and not before`, async (t) => {
    // The pauses after failures differ by chance.
    t.mock.method(Math, "random", () => 0.5);
    const pair = await leaving(t);
    await begin(pair);
    let first = 0;
    for (let run = 0; run < 9 && first === 0; run += 1) first = (await pair.pass(0)) ?? 0;
    const seconds = (await pair.pass(0)) ?? assert.fail("no run is requested");
    assert.ok(first <= seconds, `first ${first} s, then ${seconds} s`);
    const requests = () =>
      pair[cluster].asked.filter((asked) => asked.verb === verb && asked.resource === resource)
        .length;
    const before = requests();
    const rest = await pair.pass(seconds - 0.001);
    assert.deepEqual([requests(), rest], [before, 0.001]);
    await pair.pass(0.001);
    assert.equal(requests(), before + 1);
  });

test("checks again after ten seconds only while the management cluster has no Secret yet", async (t) => {
  const { there, pass } = await leaving(t);
  assert.equal(await pass(0), 10);
  const other = new Engine(managementSide(there, "tenant-a"), quiet, { looked() {} });
  for (let run = 0; run < 3; run += 1) await other.run();
  assert.equal(await pass(0), undefined);
});

test("begins again with a short pause when an object fails after a success", async (t) => {
  const { management, here, object, create, pass } = await leaving(t);
  const fail = () => {
    management.refuses = (_, verb) =>
      verb === "patch" ? refuse(500, "InternalError", "no") : undefined;
  };
  fail();
  await create("two");
  for (let run = 0; run < 8; run += 1) await pass(120);
  management.refuses = () => undefined;
  for (let run = 0; run < 4; run += 1) await pass(120);
  fail();
  const { uid = "", resourceVersion = "" } = object("two")?.metadata ?? {};
  const path = `${syncSecretsIn("default")}/two`;
  await here.patch(path, { metadata: { uid, resourceVersion }, data: { a: "bmV3" } });
  const seconds = (await pass(0)) ?? assert.fail("it did not fail");
  assert.ok(seconds < 1, `${seconds} s`);
});

for (const [what, reason] of [
  ["not changed", "Waiting"],
  ["edited", "Unreachable"],
  ["being deleted", "Unreachable"],
] as const)
  test(`when a copy cannot be read for a moment, reports ${reason} for an object that is ${what}`, async (t) => {
    const { home, management, here, there, copy, pass, leave } = await leaving(t);
    const path = `${syncSecretsIn("default")}/one`;
    const object = () => home.object<SyncSecret>(path) ?? assert.fail("there is no object");
    const { metadata, ...rest } = copy() ?? assert.fail("there is no copy");
    const at = `${syncSecretsIn("tenant-a")}/${metadata.name}`;
    const finalizers = ["example.com/f"];
    for (let run = 0; run < 3; run += 1) await pass(1);
    await there.replace(at, { ...rest, metadata: { ...metadata, finalizers } });
    if (what === "being deleted") await leave();
    const since = conditionOf(object().status, "Stalled")?.lastTransitionTime;
    management.refuses = ({ path: asked }) =>
      asked === at ? refuse(503, "ServiceUnavailable", "no") : undefined;
    const { uid = "", resourceVersion = "" } = object().metadata;
    if (what === "edited")
      await here.patch(path, { metadata: { uid, resourceVersion }, data: { a: "bmV3" } });
    for (let run = 0; run < 3; run += 1) await pass(60);
    assert.equal(conditionOf(object().status, "Ready")?.reason, reason);
    assert.equal(conditionOf(object().status, "Stalled")?.lastTransitionTime, since);
  });

test("keeps a copy whose object comes back before the deadline, for example from a backup", async (t) => {
  const { management, hide, copy, pass } = await leaving(t);
  const before = copy()?.metadata.uid;
  for (const hidden of [true, false, true, false]) {
    hide(hidden);
    await pass(1);
    await pass(3500);
  }
  assert.equal(copy()?.metadata.uid, before);
  assert.ok(!management.asked.some(({ verb }) => verb === "delete"));
});

test("starts the deadline again for a copy that is restored from a backup without its object", async (t) => {
  const { there: managementClient, hide, copy, pass } = await leaving(t);
  hide(true);
  await pass(1);
  await pass(3500);
  const { metadata, ...rest } = copy() ?? assert.fail("there is no copy");
  const { name = "", uid = "", namespace, labels, annotations } = metadata;
  await managementClient.remove(`${syncSecretsIn("tenant-a")}/${name}`, uid);
  const restored = { ...rest, metadata: { name, namespace, labels, annotations } };
  await managementClient.create(syncSecretsIn("tenant-a"), restored);
  await pass(200);
  assert.ok(copy());
  await pass(3600);
  assert.equal(copy(), undefined);
});

const failures = [
  [403, "Forbidden"],
  [409, "Conflict"],
  [500, "InternalError"],
] as const;
for (const [status, reason] of failures)
  test(`when deleting a copy that was left behind fails with ${status}, warns, serves the others and tries again`, async (t) => {
    const { management, there, object, warned, copy, create, pass } = await leaving(t);
    const { metadata, ...rest } = copy() ?? assert.fail("there is no copy");
    const { namespace, labels, annotations } = metadata;
    const path = (name: string) => `${syncSecretsIn("tenant-a")}/${name}`;
    for (const name of ["first", "second"])
      await there.create(syncSecretsIn("tenant-a"), {
        ...rest,
        metadata: { name, namespace, labels, annotations },
      });
    await pass(1);
    management.refuses = (request, verb) =>
      verb === "delete" && request.path === path("first")
        ? refuse(status, reason, "no")
        : undefined;
    await create("two");
    await pass(3601);
    const { uid = "" } = object("two")?.metadata ?? {};
    assert.ok(management.object(path(uid)), "a new object is served");
    assert.ok(management.object(path("first")));
    assert.equal(management.object(path("second")), undefined, "the other copy is deleted");
    assert.match(warned.at(-1) ?? "", new RegExp(`${path("first")}: ${status} ${reason}`));
    for (let run = 0; run < 3; run += 1) await pass(1);
    const seconds = (await pass(1)) ?? assert.fail("it is not tried again");
    assert.ok(seconds <= 60, `it is tried again after ${seconds} s`);
    management.refuses = () => undefined;
    await pass(seconds);
    assert.equal(management.object(path("first")), undefined);
  });

for (const [status, reason] of failures)
  test(`when removing the finalizer of an overdue object fails with ${status}, serves other objects and tries again`, async (t) => {
    const { home, management, object, reported, copy, create, pass, leave } = await leaving(t);
    const uid = copy()?.metadata.name ?? assert.fail("there is no copy");
    management.refuses = ({ path }) =>
      path.endsWith(uid) ? refuse(403, "Forbidden", "no") : undefined;
    home.refuses = ({ path }, verb) =>
      path.endsWith("/one") && verb === "patch" ? refuse(status, reason, "no") : undefined;
    await leave();
    await create("two");
    await pass(3601);
    const two = object("two")?.metadata.uid ?? "";
    assert.ok(management.object(`${syncSecretsIn("tenant-a")}/${two}`), "the other is served");
    assert.ok(object("one"));
    assert.deepEqual(reported, []);
    home.refuses = () => undefined;
    await pass(600);
    assert.equal(object("one"), undefined);
    assert.equal(reported.length, 1);
  });

test("L20: stops waiting at the deadline, or a minute after a later start, if the copy has a foreign finalizer", async (t) => {
  const pair = await leaving(t);
  const { management, there: managementClient, object, reported, copy } = pair;
  const { pass, leave, restart } = pair;
  const { metadata, ...rest } = copy() ?? assert.fail("there is no copy");
  const finalizers = ["example.com/f"];
  const path = `${syncSecretsIn("tenant-a")}/${metadata.name}`;
  await managementClient.replace(path, { ...rest, metadata: { ...metadata, finalizers } });
  await leave();
  await pass(3500);
  assert.ok(object("one") && copy());
  restart();
  await pass(101);
  await pass(59);
  assert.ok(object("one"), "the new process has not tried for a minute");
  await pass(1);
  assert.equal(object("one"), undefined);
  assert.deepEqual(
    reported.map((message) => message.slice(0, 6)),
    ["GPS478"],
  );
  await pass(1);
  await pass(3601);
  assert.equal(management.asked.filter(({ verb }) => verb === "delete").length, 1);
});

for (const [when, isAway, isStillAway] of [
  ["its copy is gone", false, false],
  ["it was given up at the deadline", true, false],
  ["it was given up, and the management cluster still refuses", true, true],
] as const)
  test(`writes nothing more about an object that another finalizer holds after ${when}`, async (t) => {
    const finalizer = "example.com/hold";
    const { home, management, object, reported, pass, leave } = await leaving(t, [finalizer]);
    if (isAway) management.refuses = () => refuse(403, "Forbidden", "no");
    await leave();
    await pass(3600);
    assert.deepEqual(object("one")?.metadata.finalizers, [finalizer]);
    if (!isStillAway) management.refuses = () => undefined;
    for (const { asked } of [home, management]) asked.length = 0;
    for (let run = 0; run < 4; run += 1) await pass(60);
    const writes = [...home.asked, ...management.asked].filter(
      ({ verb }) => !["get", "list", "watch"].includes(verb),
    );
    assert.deepEqual(writes, []);
    assert.equal(reported.length, isAway ? 1 : 0);
  });

test("reports a copy that is left behind although the answer to the last write was lost", async (t) => {
  const finalizer = "example.com/hold";
  const fixture = await leaving(t, [finalizer]);
  const { management, object, reported, loseAnswers, pass, leave } = fixture;
  management.refuses = () => refuse(403, "Forbidden", "no");
  await leave();
  loseAnswers(true);
  await pass(3600);
  assert.deepEqual(object("one")?.metadata.finalizers, [finalizer]);
  loseAnswers(false);
  for (let run = 0; run < 4; run += 1) await pass(60);
  assert.equal(reported.length, 1);
});

test("in the namespace of the copies, keeps a copy that another cluster or program made", async (t) => {
  const { management, there: managementClient, pass } = await leaving(t);
  const names = { "origin-name": "x", "origin-namespace": "y" };
  const others = { ...names, "origin-cluster": "another" };
  for (const [name, marks] of Object.entries({ a: names, b: others, c: {} })) {
    const annotations = Object.fromEntries(
      Object.entries(marks).map(([key, value]) => [`globalpullsecret.io/${key}`, value]),
    );
    const labels = { "app.kubernetes.io/managed-by": "global-pull-secret-sync" };
    const metadata = { name, namespace: "tenant-a", annotations, labels };
    const body = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "SyncSecret", metadata };
    await managementClient.create(syncSecretsIn("tenant-a"), body);
  }
  await pass(1);
  for (const name of ["a", "b", "c"])
    assert.ok(management.object(`${syncSecretsIn("tenant-a")}/${name}`), name);
});

test("reports only once in status that it does not copy a copy", async () => {
  const { home, management, here, there: managementClient, object } = pairOf();
  const marks = { "origin-name": "x", "origin-namespace": "y" };
  const annotations = Object.fromEntries(
    Object.entries(marks).map(([key, value]) => [`globalpullsecret.io/${key}`, value]),
  );
  const labels = { "app.kubernetes.io/managed-by": "global-pull-secret-sync" };
  const path = `${syncSecretsIn("default")}/one`;
  await here.create(syncSecretsIn("default"), {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "SyncSecret",
    metadata: { name: "one", namespace: "default", annotations, labels },
  });
  const side = tenantSide({ home: here, management: managementClient, namespace: "tenant-a" });
  const engine = new Engine(side, quiet, { looked() {} });
  await engine.run();
  const ready = () => conditionOf(home.object<SyncSecret>(path)?.status, "Ready");
  assert.deepEqual([ready()?.status, ready()?.reason], ["False", "Copied"]);
  assert.match(ready()?.message ?? "", /^GPS471: /);
  const syncSecret = object("one") as SyncSecret;
  const conditions = [{ type: "Ready", status: "True", reason: "Synced", lastTransitionTime: "" }];
  await here.replace(`${path}/status`, { ...syncSecret, status: { conditions } });
  await engine.run();
  assert.equal(ready()?.reason, "Synced");
  assert.ok(!management.asked.some(({ verb }) => verb === "create"));
});

test("deletes a Secret whose copy was deleted with its dependents orphaned, but not a person's own copy", async (t) => {
  const api = new FakeApi();
  api.store.define(readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8"));
  const client = directly(api, "management");
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const engine = new Engine(managementSide(client, "a"), silent, { looked() {} });
  const run = async () => {
    await engine.run();
    await engine.run();
  };
  const metadata = { name: "one", namespace: "a" };
  const copy = await client.create<Stored>(syncSecretsIn("a"), { metadata, data: { a: "eA==" } });
  await run();
  const { uid = "" } = copy.metadata;
  const path = `${secretsIn("a")}/${uid}`;
  const { metadata: its } = api.object<Stored>(path) ?? assert.fail("there is no Secret");
  // What Kubernetes does after a DELETE with propagationPolicy Orphan.
  const { labels = {}, annotations = {}, uid: secretUid = "", resourceVersion = "" } = its;
  const version = { uid: secretUid, resourceVersion };
  await client.patch(path, { metadata: { ...version, ownerReferences: null } });
  await client.remove(`${syncSecretsIn("a")}/one`, uid);
  await client.create(secretsIn("a"), { metadata: { name: "kept", labels, annotations } });
  await run();
  now += 3500_000;
  await run();
  assert.ok(api.object(path), "within the hour");
  now += 200_000;
  await run();
  assert.equal(api.object(path), undefined);
  assert.ok(api.object(`${secretsIn("a")}/kept`));
  // A deletion in the foreground would wait for the garbage collector.
  const deleted = api.asked.findLast(({ verb }) => verb === "delete");
  assert.partialDeepStrictEqual(deleted?.body, { propagationPolicy: "Background" });
});
