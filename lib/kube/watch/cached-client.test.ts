/**
 * Checks which requests a cached client still makes. The API server is scripted; test/controller
 * uses a real one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "./informer.ts";
import { cached } from "./cached-client.ts";

const target = { collection: "/api/v1/namespaces/kube-system/secrets", name: "global-pull-secret" };
const path = `${target.collection}/${target.name}`;
const at = (version: string) => ({ metadata: { uid: "1", resourceVersion: version } });

const typed = { kind: "Secret", apiVersion: "v1" };

/**
 * An informer that was listed at version 1, and an API server that has the object `live` at version
 * 10. `asked` grows with every request.
 */
function setUp({ live, refuses }: { live: object | undefined; refuses?: Error }) {
  const asked: string[] = [];
  const answer = (method: string, reply: unknown) => async (path: string) => {
    asked.push(method === "GET" && path.includes("?") ? "LIST" : method);
    if (refuses !== undefined && method !== "GET") throw refuses;
    if (!path.includes("?")) return reply;
    const items = reply === undefined ? [] : [reply];
    return { kind: "SecretList", apiVersion: "v1", metadata: { resourceVersion: "10" }, items };
  };
  const server = {
    get: answer("GET", live),
    apply: answer("PATCH", live),
    patch: answer("PATCH", live),
    remove: answer("DELETE", undefined),
  } as unknown as Cluster;
  const informer = new Informer();
  informer.listed(at("1"), "1");
  return { asked, informer, cluster: cached(server, [{ target, informer }]) };
}

test("answers a read from the informer, and from the API server while the informer has no answer", async () => {
  const { asked, informer, cluster } = setUp({ live: at("2") });
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, []);
  informer.lost();
  assert.deepEqual(await cluster.get(path), at("2"));
  await cluster.get(`${path}-other`);
  assert.deepEqual(asked, ["GET", "GET"]);
});

test("reads back our own write at once and without a request", async () => {
  const { asked, cluster } = setUp({ live: at("2") });
  await cluster.apply(path, {}, { manager: "us", force: true });
  assert.deepEqual(await cluster.get(path), at("2"));
  assert.deepEqual(asked, ["PATCH"]);
  const patched = setUp({ live: at("2") });
  await patched.cluster.patch(path, at("1"));
  assert.deepEqual(await patched.cluster.get(path), at("2"));
});

test("never shows the result of a dry run", async () => {
  const { asked, cluster } = setUp({ live: at("2") });
  await cluster.apply(path, {}, { manager: "us", force: true, dryRun: true });
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, ["PATCH"]);
});

test("after a write that was not answered, makes one request and ignores late events", async () => {
  const { asked, informer, cluster } = setUp({ live: at("3"), refuses: new Error("no answer") });
  await assert.rejects(cluster.apply(path, {}, { manager: "us", force: true }));
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(await cluster.get(path), { ...at("3"), ...typed });
    informer.received(at("2"), "2");
  }
  assert.deepEqual(asked, ["PATCH", "LIST"]);
});

test("shows a deletion at once, before the watch reports it, and then also a new object of the same name", async () => {
  const { asked, informer, cluster } = setUp({ live: undefined });
  await cluster.remove(path, "1");
  for (let times = 0; times < 2; times++) {
    assert.equal(await cluster.get(path), undefined);
    informer.received(at("2"), "2");
  }
  informer.received(at("12"), "12");
  assert.deepEqual(await cluster.get(path), at("12"));
  assert.deepEqual(asked, ["DELETE", "LIST"]);
});

test("lists again if a write is not answered while a list is under way", async () => {
  const { informer } = setUp({ live: undefined });
  let lists = 0;
  const server = {
    get: async () => {
      lists += 1;
      if (lists === 1) informer.doubt();
      const metadata = { resourceVersion: String(10 + lists) };
      return { ...typed, kind: "SecretList", metadata, items: [at(String(10 + lists))] };
    },
  } as unknown as Cluster;
  const cluster = cached(server, [{ target, informer }]);
  informer.doubt();
  for (const version of ["11", "12", "12"])
    assert.deepEqual(await cluster.get(path), { ...at(version), ...typed });
  assert.equal(lists, 2);
});

test("makes no request after a write that was answered with 429, which did nothing", async () => {
  const busy = new ApiError({ status: 429, reason: "TooManyRequests", method: "PATCH", path });
  const { asked, cluster } = setUp({ live: at("3"), refuses: busy });
  await assert.rejects(cluster.apply(path, {}, { manager: "us", force: true }), busy);
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, ["PATCH"]);
});
