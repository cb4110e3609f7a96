/** Lists of unexpectedly large objects, from a fake API server in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApi } from "#test/harness/api/api.ts";
import { Refusal } from "#test/harness/api/protocol.ts";
import { directly } from "#test/harness/api/direct.ts";
import { ApiError } from "./api-error.ts";

const nodes = "/api/v1/nodes";

/** A cluster with one Node for each of these sizes, in bytes. */
async function clusterOf(...sizes: readonly number[]) {
  const api = new FakeApi();
  const cluster = directly(api, "test");
  for (const [at, size] of sizes.entries()) {
    const name = `node-${String(at).padStart(4, "0")}`;
    const metadata = { name, labels: { size: String(size) } };
    await cluster.create(nodes, { kind: "Node", metadata, spec: { podCIDR: "x".repeat(size) } });
  }
  api.asked.length = 0;
  return { api, cluster };
}

type Named = Readonly<{ metadata: { name: string } }>;
const kB = 1000;
const MiB = 1024 * 1024;

test("reads nodes of 70 kB to the end, by pages that are halved until they fit", async () => {
  const { api, cluster } = await clusterOf(...Array.from({ length: 600 }, () => 70 * kB));
  const names = new Set<string>();
  let largest = 0;
  await cluster.pages<Named>(nodes, {}, (items) => {
    for (const { metadata } of items) names.add(metadata.name);
    largest = Math.max(largest, JSON.stringify(items).length);
  });
  assert.equal(names.size, 600);
  assert.ok(largest <= 8 * MiB, `a page of ${largest} bytes`);
  const limits = api.asked.map(({ query }) => query["limit"]);
  assert.deepEqual(limits.slice(0, 4), ["500", "250", "125", "63"]);
  assert.ok(limits.length <= 20, `${limits.length} requests: ${limits.join(" ")}`);
});

test("returns to larger pages after a single large object", async () => {
  const sizes = Array.from({ length: 2000 }, (_, at) => (at === 3 ? 7 * MiB : 20 * kB));
  const { api, cluster } = await clusterOf(...sizes);
  let count = 0;
  await cluster.pages(nodes, {}, (items) => (count += items.length));
  assert.equal(count, 2000);
  assert.ok(api.asked.length < 80, `${api.asked.length} requests`);
});

test("if the caller allows it, skips an object that is too large for a page, and reports its name", async () => {
  const { cluster } = await clusterOf(kB, 9 * MiB, kB, 9 * MiB, kB);
  const names: string[] = [];
  const each = (items: readonly Named[]) =>
    void names.push(...items.map(({ metadata }) => metadata.name));
  const skipped: string[] = [];
  await cluster.pages<Named>(nodes, {}, each, { skipped: (name) => void skipped.push(name) });
  assert.deepEqual(names, ["node-0000", "node-0002", "node-0004"]);
  assert.deepEqual(skipped, ["node-0001", "node-0003"]);
});

const printed: readonly (readonly [what: string, name: unknown, reported: string])[] = [
  ["has a colon", "system:node", "system:node"],
  ["has dots and dashes", "a-1.b.io", "a-1.b.io"],
  ["has 253 characters", "a".repeat(253), "a".repeat(253)],
  ["has 254 characters", "a".repeat(254), "an object"],
  ["has a line break", "a\nb", "an object"],
  ["has capitals", "Abc", "an object"],
  ["begins with a dash", "-a", "an object"],
  ["is empty", "", "an object"],
  ["is a number", 7, "an object"],
  ["is missing", undefined, "an object"],
];
for (const [what, name, reported] of printed)
  test(`names an object that is too large only by a valid name: one that ${what}`, async () => {
    const { api, cluster } = await clusterOf(9 * MiB);
    const answer = api.answer.bind(api);
    api.answer = (request) => {
      const answered = answer(request);
      const isTable = "body" in answered && "rows" in answered.body;
      const rows = [{ cells: [name] }];
      return isTable ? { ...answered, body: { ...answered.body, rows } } : answered;
    };
    const skipped: string[] = [];
    await cluster.pages(nodes, {}, () => {}, { skipped: (text) => void skipped.push(text) });
    assert.deepEqual(skipped, [reported]);
  });

test("reports the list's version also if every object is too large for a page", async () => {
  const { cluster } = await clusterOf(9 * MiB);
  const versions: string[] = [];
  const each = (items: readonly Named[], version: string) => {
    assert.equal(items.length, 0);
    versions.push(version);
  };
  await cluster.pages<Named>(nodes, {}, each, { skipped() {} });
  assert.match(versions.join(), /^\d+$/);
});

test("if the caller needs every object, rejects with the name of an object that is too large for a page", async () => {
  const { cluster } = await clusterOf(kB, 9 * MiB, kB);
  await assert.rejects(
    cluster.pages(nodes, {}, () => {}),
    (error: ApiError) => {
      assert.ok(error.tooLarge);
      assert.match(error.message, /node-0001 alone is larger than a page may be$/);
      return true;
    },
  );
});

test("throws an error at once if the error is not about the size of a page", async () => {
  const { api, cluster } = await clusterOf(kB);
  await assert.rejects(
    cluster.pages("/api/v1/nothing", {}, () => {}),
    ApiError,
  );
  assert.equal(api.asked.length, 1);
});

test("throws a server's refusal at once, although its reason is that of our own limit", async () => {
  const { api, cluster } = await clusterOf(kB);
  api.refuses = () => new Refusal(413, "TooLarge", "no");
  await assert.rejects(
    cluster.pages(nodes, {}, () => {}),
    (error: ApiError) => error.status === 413 && !error.tooLarge,
  );
  assert.equal(api.asked.length, 1);
});
