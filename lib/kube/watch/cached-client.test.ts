/**
 * Which questions a cached cluster still asks. The API server is scripted; a real one is asked in
 * test/controller.
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
 * An informer that was listed at version 1, and an API server that has this, at version 10; `asked`
 * grows by every question.
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
    remove: answer("DELETE", undefined),
  } as unknown as Cluster;
  const informer = new Informer();
  informer.listed(at("1"), "1");
  return { asked, informer, cluster: cached(server, [{ target, informer }]) };
}

test("a read is answered by the informer, and by the API server while the informer says nothing or there is none", async () => {
  const { asked, informer, cluster } = setUp({ live: at("2") });
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, []);
  informer.lost();
  assert.deepEqual(await cluster.get(path), at("2"));
  await cluster.get(`${path}-other`);
  assert.deepEqual(asked, ["GET", "GET"]);
});

test("what we wrote is read back at once and without a question", async () => {
  const { asked, cluster } = setUp({ live: at("2") });
  await cluster.apply(path, {}, { manager: "us", force: true });
  assert.deepEqual(await cluster.get(path), at("2"));
  assert.deepEqual(asked, ["PATCH"]);
});

test("the result of a dry run is never shown", async () => {
  const { asked, cluster } = setUp({ live: at("2") });
  await cluster.apply(path, {}, { manager: "us", force: true, dryRun: true });
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, ["PATCH"]);
});

test("after a write without an answer the API server is asked once, and late events change nothing", async () => {
  const { asked, informer, cluster } = setUp({ live: at("3"), refuses: new Error("no answer") });
  await assert.rejects(cluster.apply(path, {}, { manager: "us", force: true }));
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(await cluster.get(path), { ...at("3"), ...typed });
    informer.heard(at("2"), "2");
  }
  assert.deepEqual(asked, ["PATCH", "LIST"]);
});

test("a deletion is seen at once, before the watch tells of it, and what is made anew then as well", async () => {
  const { asked, informer, cluster } = setUp({ live: undefined });
  await cluster.remove(path, "1");
  for (let times = 0; times < 2; times++) {
    assert.equal(await cluster.get(path), undefined);
    informer.heard(at("2"), "2");
  }
  informer.heard(at("12"), "12");
  assert.deepEqual(await cluster.get(path), at("12"));
  assert.deepEqual(asked, ["DELETE", "LIST"]);
});

test("asks nothing after a write that was answered with 429, which did nothing", async () => {
  const busy = new ApiError({ status: 429, reason: "TooManyRequests", method: "PATCH", path });
  const { asked, cluster } = setUp({ live: at("3"), refuses: busy });
  await assert.rejects(cluster.apply(path, {}, { manager: "us", force: true }), busy);
  assert.deepEqual(await cluster.get(path), at("1"));
  assert.deepEqual(asked, ["PATCH"]);
});
