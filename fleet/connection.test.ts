/**
 * Checks how long a kubeconfig is used. The cluster is a fake. The tests set the clock, because
 * five real minutes would take too long.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { Access } from "#kube/kubeconfig/access.ts";
import type { AccessReading } from "./inventory/access.ts";
import { Connection } from "./connection.ts";

const minute = 60_000;

const accessTo = (server: string): AccessReading => {
  const access = new Access({ server, authority: "", serverName: undefined }, {});
  return { ok: true, access, sourceText: server };
};

type Is = Readonly<{ removed: string[] }> & {
  items: object[];
  lists: number;
  /** The number of open watches. */
  watches: number;
  refusal?: ApiError;
  /** The collection that `refusal` is about, or all collections. */
  refusedCollection?: string;
  /** Whether each watch sends more events than one object needs. */
  floods?: boolean;
};

/**
 * A cluster with these objects. It accepts deletions but deletes nothing. Its watches stay open.
 */
const clusterOf = (is: Is) =>
  ({
    remove: async (path: string) => void is.removed.push(path),
    async get(path: string) {
      is.lists += 1;
      if (is.refusal !== undefined && path.startsWith(is.refusedCollection ?? "")) throw is.refusal;
      const metadata = { resourceVersion: String(is.lists) };
      return { kind: "SecretList", apiVersion: "v1", metadata, items: is.items };
    },
    async stream(_: string, __: object, signal: AbortSignal, line: (text: string) => void) {
      const event = JSON.stringify({ type: "MODIFIED", object: is.items[0] });
      for (let sent = 0; is.floods && sent < 1000; sent += 1) line(event);
      if (signal.aborted) return;
      is.watches += 1;
      await once(signal, "abort");
      is.watches -= 1;
    },
  }) as unknown as Cluster;

type Counted = Is & {
  read: () => Promise<AccessReading>;
  readings: number;
  opened: string[];
  hints: number;
};

/** A connection that has read its kubeconfig once, and works. */
async function connectionOf(
  t: TestContext,
  besides: readonly WatchTarget[] = [],
  refused: Pick<Is, "refusal" | "refusedCollection"> = {},
) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  t.mock.method(performance, "now", () => Date.now());
  t.mock.method(Math, "random", () => 0.5);
  const is: Counted = {
    read: async () => accessTo("https://one"),
    readings: 0,
    opened: [],
    removed: [],
    items: [],
    lists: 0,
    watches: 0,
    hints: 0,
    ...refused,
  };
  const connection = new Connection({
    reach: async () => {
      is.readings += 1;
      return await is.read();
    },
    needed: [{ collection: "/api/v1/namespaces/kube-system/secrets", name: "pull-secret" }],
    besides,
    hint: () => void (is.hints += 1),
    connect: ({ server }) => {
      is.opened.push(server);
      return clusterOf(is);
    },
  });
  t.after(() => connection.close());
  /** Lets time pass in steps of a second. After each step, all timers that are due run. */
  const pass = async (milliseconds: number) => {
    for (let remaining = milliseconds; remaining > 0; remaining -= 1000) {
      t.mock.timers.tick(1000);
      await setImmediate();
    }
  };
  await setImmediate();
  assert.deepEqual([is.readings, is.opened], [1, ["https://one"]]);
  return { connection, is, pass };
}

test("reads an unchanged kubeconfig again after four to six minutes, and keeps its connection", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  await pass(4 * minute - 1000);
  assert.equal(is.readings, 1);
  await pass(2 * minute + 2000);
  assert.equal(is.readings, 2);
  await pass(6 * minute + 2000);
  assert.ok(is.readings >= 3);
  assert.deepEqual(is.opened, ["https://one"]);
  assert.ok(Array.isArray(connection.found));
});

test("opens one connection to a cluster that needs no kubeconfig, and keeps it", async (t) => {
  const { is, pass } = await connectionOf(t);
  const needed = [{ collection: "/api/v1/namespaces/kube-system/secrets", name: "pull-secret" }];
  const beside = new Connection({ reach: clusterOf(is), needed, besides: [], hint() {} });
  t.after(() => beside.close());
  await pass(10_000);
  const { cluster } = beside;
  assert.ok(cluster);
  beside.observeWrite(false);
  await pass(6 * minute);
  assert.equal(beside.cluster, cluster);
});

test("uses a new kubeconfig after at most six minutes, even if the old kubeconfig still works", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  is.read = async () => accessTo("https://two");
  await pass(6 * minute + 2000);
  assert.deepEqual(is.opened, ["https://one", "https://two"]);
  assert.ok(Array.isArray(connection.found));
});

test("after it is closed, watches nothing, and does not use a kubeconfig that it was reading", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  const reading = Promise.withResolvers<AccessReading>();
  is.read = async () => await reading.promise;
  await pass(6 * minute + 2000);
  connection.close();
  reading.resolve(accessTo("https://two"));
  await pass(6 * minute);
  assert.deepEqual([is.readings, is.watches, is.opened], [2, 0, ["https://one"]]);
});

test("reads the kubeconfig again after a write without an answer", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  connection.observeWrite(false);
  await pass(2000);
  assert.equal(is.readings, 2);
});

const forbidden = new ApiError({ status: 403, reason: "Forbidden", method: "GET", path: "/x" });

test("reads a kubeconfig that cannot be used again every 30 seconds", async (t) => {
  const { is, pass } = await connectionOf(t);
  is.read = async () => ({ ok: false, why: "GPS437: why" });
  await pass(10 * minute);
  const before = is.readings;
  await pass(10 * minute);
  const readings = is.readings - before;
  assert.ok(readings >= 19 && readings <= 21, `${readings} readings`);
});

/** The change of the kubeconfig, the result of the next read, and the reported reason. */
const revoked: readonly (readonly [string, () => Promise<AccessReading>, RegExp])[] = [
  ["cannot be used", async () => ({ ok: false, why: "GPS437: why" }), /^GPS437: why$/],
  ["cannot be read (403)", async () => await Promise.reject(forbidden), /^GPS476: .*403 Forbidden/],
];
const deleted: (typeof revoked)[number] = [
  "was deleted",
  async () => ({ ok: false, why: "GPS436: why", absent: true }),
  /^GPS436: why$/,
];
for (const [what, read, isReported] of [...revoked, deleted])
  test(`ends the connection if a kubeconfig ${what}, and connects again after the kubeconfig is restored`, async (t) => {
    const { connection, is, pass } = await connectionOf(t);
    const { read: before } = is;
    is.read = read;
    await pass(6 * minute + 2000);
    assert.deepEqual([connection.cluster, is.watches], [undefined, 0]);
    assert.match(
      "away" in (connection.found as object) ? (connection.found as { away: string }).away : "",
      isReported,
    );
    is.read = before;
    await pass(2 * minute);
    assert.ok(Array.isArray(connection.found));
    assert.deepEqual(is.opened, ["https://one", "https://one"]);
  });

test("tries again within seconds when an outage begins, even after a long outage", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  const { read: before } = is;
  for (let outage = 1; outage <= 2; outage += 1) {
    is.read = async () => ({ ok: false, why: "GPS437: why" });
    while (connection.cluster !== undefined) await pass(1000);
    const { readings } = is;
    await pass(12_000);
    assert.ok(
      is.readings >= readings + 3,
      `${is.readings - readings} readings in outage ${outage}`,
    );
    await pass(10 * minute);
    is.read = before;
    await pass(2 * minute);
    assert.ok(Array.isArray(connection.found));
  }
});

test("reads the kubeconfig again within two seconds when the cluster refuses the old one", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  is.read = async () => accessTo("https://two");
  is.refusal = new ApiError({ status: 401, reason: "Unauthorized", method: "GET", path: "/x" });
  while (Array.isArray(connection.found)) await pass(1000);
  assert.match(JSON.stringify(connection.found), /"GPS476: .*401/);
  await pass(2000);
  assert.deepEqual(is.opened, ["https://one", "https://two"]);
});

test("keeps the connection to a leaving cluster after its kubeconfig was deleted, until the cluster is served again", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  connection.leaving = true;
  is.read = async () => ({ ok: false, why: "GPS436: why", absent: true });
  await pass(12 * minute);
  assert.ok(is.readings > 2);
  assert.ok(Array.isArray(connection.found));
  await connection.cluster?.remove("/x", "u");
  assert.deepEqual(is.removed, ["/x"]);
  connection.leaving = false;
  await pass(6 * minute + 2000);
  assert.equal(connection.cluster, undefined);
});

for (const [what, read] of revoked)
  test(`ends the connection to a leaving cluster when its kubeconfig ${what}`, async (t) => {
    const { connection, is, pass } = await connectionOf(t);
    connection.leaving = true;
    is.read = read;
    await pass(6 * minute + 2000);
    assert.equal(connection.cluster, undefined);
  });

test("keeps an open connection while the management cluster does not answer", async (t) => {
  const { connection, is, pass } = await connectionOf(t);
  const silence = new ApiError({ status: 0, reason: "refused", method: "GET", path: "/x" });
  is.read = async () => await Promise.reject(silence);
  await pass(10 * minute);
  assert.ok(is.readings > 2);
  assert.ok(Array.isArray(connection.found));
  assert.deepEqual(is.opened, ["https://one"]);
});

/** Counts the lists and the hints during `milliseconds`. Each hint starts a run of the fleet. */
async function during(
  { is, pass }: Awaited<ReturnType<typeof connectionOf>>,
  milliseconds: number,
) {
  const { hints, lists } = is;
  await pass(milliseconds);
  return { hints: is.hints - hints, lists: is.lists - lists };
}

test("hints when an object has changed, but not when a renewed watch lists the same object", async (t) => {
  const fixture = await connectionOf(t);
  fixture.is.items = [{ metadata: { name: "pull-secret", uid: "u", resourceVersion: "1" } }];
  assert.equal((await during(fixture, 6 * minute)).hints, 1);
  const { hints, lists } = await during(fixture, 30 * minute);
  assert.ok(lists >= 5, `${lists} lists`);
  assert.equal(hints, 0);
  fixture.is.items = [{ metadata: { name: "pull-secret", uid: "u", resourceVersion: "2" } }];
  assert.equal((await during(fixture, 6 * minute)).hints, 1);
  fixture.is.items = [];
  assert.equal((await during(fixture, 6 * minute)).hints, 1);
});

test("hints only once when several watches of a cluster send too much", async (t) => {
  const fixture = await connectionOf(t, [
    { collection: collections.globalPullSecrets, name: "pull-secret" },
  ]);
  const { connection, is } = fixture;
  is.items = [{ metadata: { name: "pull-secret", uid: "u", resourceVersion: "1" } }];
  await fixture.pass(6 * minute);
  assert.equal(connection.excess, undefined);
  is.floods = true;
  const { hints, lists } = await during(fixture, 6 * minute);
  assert.deepEqual({ hints, lists }, { hints: 1, lists: 2 });
});

for (const [what, path] of [
  ["the Secret", "/api/v1/namespaces/kube-system/secrets/pull-secret"],
  ["an optional object", `${collections.globalPullSecrets}/cluster`],
] as const)
  test(`hints when the result of a write of ${what} is known, even if the object has not changed`, async (t) => {
    const fixture = await connectionOf(t, [
      { collection: collections.globalPullSecrets, name: "cluster" },
    ]);
    const { connection, is } = fixture;
    const hinted = is.hints;
    await connection.cluster?.remove(path, "u");
    connection.observeWrite(true);
    assert.equal(connection.doubted, true);
    await fixture.pass(2000);
    assert.equal(connection.doubted, false);
    assert.ok(is.hints > hinted);
  });

test("hints when a cluster becomes unreachable, and when it is reachable again with the same object", async (t) => {
  const fixture = await connectionOf(t);
  const { connection, is } = fixture;
  is.refusal = new ApiError({ status: 0, reason: "refused", method: "GET", path: "/x" });
  assert.ok((await during(fixture, 6 * minute)).hints > 0);
  assert.ok("away" in (connection.found as object));
  delete is.refusal;
  const hinted = is.hints;
  // The pause before the next list takes real time, so we repeat until it is over.
  while (!Array.isArray(connection.found)) await fixture.pass(1000);
  assert.ok(is.hints > hinted);
});

const witness = { collection: collections.globalPullSecrets, name: "cluster" };
/** How a read of an optional object fails, what is reported, and whether the last object counts. */
const failedReads: readonly (readonly [status: number, why: string, isKept: boolean])[] = [
  [0, "no answer Refused", true],
  [401, "401 Refused", true],
  [403, "403 Refused", false],
  [404, "404 Refused", false],
  [500, "500 Refused", true],
];
for (const [status, why, isKept] of failedReads) {
  const refusal = new ApiError({ status, reason: "Refused", method: "GET", path: "/x" });
  const refused = { refusal, refusedCollection: witness.collection };
  const seenBy = ({ found }: Connection) =>
    Array.isArray(found) ? (found as readonly unknown[])[1] : assert.fail("it is unreachable");

  test(`reports "${why}" if an optional object was never read`, async (t) => {
    const { connection } = await connectionOf(t, [witness], refused);
    assert.deepEqual(seenBy(connection), { is: "refused", status, why });
  });

  test(`reports "${why}" for an optional object, and ${isKept ? "keeps" : "forgets"} what was read before`, async (t) => {
    const { connection, is, pass } = await connectionOf(t, [witness]);
    const before = seenBy(connection) as object;
    Object.assign(is, refused);
    await pass(6 * minute);
    assert.deepEqual(
      seenBy(connection),
      isKept ? { ...before, failing: why } : { is: "refused", status, why },
    );
  });
}
