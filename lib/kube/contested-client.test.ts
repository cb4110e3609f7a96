/** Another client that undoes each write of ours, on a fake API server in memory. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { FakeApi } from "#test/harness/api/api.ts";
import { Refusal } from "#test/harness/api/protocol.ts";
import { directly } from "#test/harness/api/direct.ts";
import { ApiError } from "./client/api-error.ts";
import type { Cluster } from "./client/cluster.ts";
import { fieldManager, otherManager } from "./client/ownership.ts";
import { collections } from "./client/paths.ts";
import { Contested, contested } from "./contested-client.ts";

const path = `${collections.secrets}/one`;
const ours = { manager: fieldManager, force: true };

const secret = (value: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "one" },
  data: { key: value },
});

/** Our client, another operator's client, and a clock in milliseconds. */
function setUp(t: TestContext) {
  const api = new FakeApi();
  const at = { now: 1_000_000 };
  t.mock.method(performance, "now", () => at.now);
  const { cluster, listContests } = contested(directly(api, fieldManager));
  const other = directly(api, "other-operator");
  /** Our write, which the other client then undoes; true if it was written. */
  async function round(value = "ours"): Promise<boolean> {
    try {
      await cluster.apply(path, secret(value), ours);
      await other.replace(path, secret("theirs"));
      return true;
    } catch (error) {
      if (error instanceof Contested) return false;
      throw error;
    }
  }
  return { api, at, cluster, listContests, round };
}

test("sends the same write twenty times at once, then once a minute, and names the client that undoes the write", async (t) => {
  const { api, at, cluster, listContests, round } = setUp(t);
  for (let times = 0; times < 20; times++) assert.ok(await round(), `write ${times}`);
  assert.deepEqual(listContests(), []);
  api.asked.length = 0;
  assert.equal(await round(), false);
  assert.equal(api.asked.filter(({ verb }) => verb === "patch").length, 0);
  assert.deepEqual(listContests(), [{ path, manager: "other-operator" }]);
  const isRefused = async (seconds: number) =>
    await assert.rejects(cluster.apply(path, secret("ours"), ours), (error: ApiError) => {
      assert.deepEqual([error.status, Math.round(error.retryAfterSeconds ?? 0)], [409, seconds]);
      assert.match(error.message, /409 Contested: "other-operator" keeps changing this object$/);
      return true;
    });
  await isRefused(10);
  at.now += 55_000;
  await isRefused(5);
  at.now += 5000;
  assert.ok(await round());
  assert.deepEqual(listContests(), [{ path, manager: "other-operator" }], "it goes on");
  assert.equal(await round(), false);
});

test("reads only the metadata of the contested object to name the other client", async (t) => {
  const { api, round } = setUp(t);
  for (let times = 0; times < 20; times++) await round();
  const answer = api.answer.bind(api);
  const accepted: (readonly [method: string, accept: string | undefined])[] = [];
  api.answer = (request) => {
    accepted.push([request.method, request.accept]);
    return answer(request);
  };
  assert.equal(await round(), false);
  assert.deepEqual(
    accepted.map(([method]) => method),
    ["GET"],
  );
  assert.match(accepted[0]?.[1] ?? "", /as=PartialObjectMetadata/);
});

test("no longer lists an object as contested after a minute without a refused write", async (t) => {
  const { at, listContests, round } = setUp(t);
  for (let times = 0; times < 21; times++) await round();
  assert.equal(listContests().length, 1);
  at.now += 60_000;
  assert.deepEqual(listContests(), []);
});

test("writes different content at once", async (t) => {
  const { listContests, round } = setUp(t);
  for (let times = 0; times < 21; times++) await round();
  assert.ok(await round("new"));
  assert.deepEqual(listContests(), []);
});

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "origin", uid: "7" };
for (const metadata of [
  { labels: { a: "b" } },
  { annotations: { a: "b" } },
  { finalizers: ["example.com/a"] },
  { ownerReferences: [owner] },
])
  test(`writes other ${Object.keys(metadata).join()} at once`, async (t) => {
    const { cluster, listContests, round } = setUp(t);
    for (let times = 0; times < 21; times++) await round();
    assert.equal(listContests().length, 1);
    const body = { ...secret("ours"), metadata: { name: "one", ...metadata } };
    await cluster.apply(path, body, ours);
    assert.deepEqual(listContests(), []);
  });

test("counts writes of the same content as the same write, whatever resourceVersion they are based on", async (t) => {
  const { cluster } = setUp(t);
  const bodies = Array.from({ length: 21 }, (_, n) => ({
    ...secret("ours"),
    metadata: { name: "one", ...(n === 0 ? {} : { managedFields: [] }) },
  }));
  const write = async () => {
    for (const body of bodies) {
      const live = await cluster.get<V1Secret>(path);
      const { uid, resourceVersion } = live?.metadata ?? {};
      const metadata = { ...body.metadata, uid, resourceVersion };
      await cluster.apply(path, { ...body, metadata }, ours);
    }
  };
  await assert.rejects(write(), Contested);
});

test("counts the writes of each of our managers, although they write the object in turn", async (t) => {
  const { cluster } = setUp(t);
  const managers = [fieldManager, `${fieldManager}-other`];
  const write = (manager: string) => cluster.apply(path, secret(manager), { manager, force: true });
  for (let times = 0; times < 20; times++) for (const manager of managers) await write(manager);
  for (const manager of managers) await assert.rejects(write(manager), Contested);
});

test("keeps the name of the other client while the object cannot be read", async (t) => {
  const { api, listContests, round } = setUp(t);
  for (let times = 0; times < 21; times++) await round();
  api.refuses = (_, verb) => (verb === "get" ? new Refusal(403, "Forbidden", "no") : undefined);
  assert.equal(await round(), false);
  assert.deepEqual(listContests(), [{ path, manager: "other-operator" }]);
});

test("lists no object as contested while other content is written and no write of it is refused", async (t) => {
  const { listContests, round } = setUp(t);
  for (let times = 0; times < 21; times++) await round();
  assert.equal(listContests().length, 1);
  for (let times = 0; times < 20; times++) {
    assert.ok(await round("new"));
    assert.deepEqual(listContests(), []);
  }
  assert.equal(await round("new"), false);
  assert.deepEqual(listContests(), [{ path, manager: "other-operator" }]);
});

test("counts neither dry runs nor writes that failed", async (t) => {
  const { api, cluster, listContests } = setUp(t);
  for (let times = 0; times < 20; times++)
    await cluster.apply(path, secret("ours"), { ...ours, dryRun: true });
  for (let times = 0; times < 20; times++) {
    const body = { ...secret("ours"), metadata: { name: "one", uid: "gone" } };
    await assert.rejects(cluster.apply(path, body, ours), { status: 409, reason: "Conflict" });
  }
  await cluster.apply(path, secret("ours"), ours);
  assert.deepEqual(listContests(), []);
  assert.equal(api.object<V1Secret>(path)?.data?.["key"], "ours");
});

test("does not count applies of a status, which the writer of the status limits", async () => {
  let sent = 0;
  const raw = { apply: async () => void (sent += 1) } as unknown as Cluster;
  const { cluster, listContests } = contested(raw);
  for (let times = 0; times < 30; times++)
    await cluster.apply(`${path}/status`, { metadata: { name: "one" }, status: {} }, ours);
  assert.equal(sent, 30);
  assert.deepEqual(listContests(), []);
});

test("treats an object that another client keeps deleting as contested", async (t) => {
  const { api, listContests, round, cluster } = setUp(t);
  const make = async () => {
    await cluster.apply(path, secret("ours"), ours);
    api.store.clear();
  };
  for (let times = 0; times < 20; times++) await make();
  await assert.rejects(make(), /another client keeps changing this object/);
  assert.deepEqual(listContests(), [{ path, manager: undefined }]);
  assert.equal(await round(), false);
});

const entry = (manager: string, time: string, subresource?: string) => ({
  manager,
  time: time as unknown as Date,
  ...(subresource === undefined ? {} : { subresource }),
});
const fields = [
  entry("kubectl", "2026-01-01T00:00:01Z"),
  entry("other-operator", "2026-01-01T00:00:03Z"),
  entry(fieldManager, "2026-01-01T00:00:04Z"),
  entry("kube-controller-manager", "2026-01-01T00:00:05Z", "status"),
];
const managers: readonly (readonly [
  what: string,
  found: string | undefined,
  expected: string | undefined,
])[] = [
  ["the last writer besides us", otherManager({ managedFields: fields }), "other-operator"],
  ["none for an object that is gone", otherManager(undefined), undefined],
  [
    "none if the name has a line break",
    otherManager({ managedFields: [entry("a\nb", "2026-01-01T00:00:01Z")] }),
    undefined,
  ],
];
for (const [what, manager, expected] of managers)
  test(`reports as the other writer: ${what}`, () => assert.equal(manager, expected));
