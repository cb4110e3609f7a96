/** Reads the objects of another party as a list and by a watch, beyond each limit. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { Refusal } from "#test/harness/api/protocol.ts";
import { directly } from "#test/harness/api/direct.ts";
import { until } from "#test/cluster/await.ts";
import { OthersObjects, type Excess } from "./others.ts";

const { secrets } = collections;
const secret = (name: string, annotations: object = {}) => ({
  metadata: { name, annotations },
  data: { a: "eA==" },
});
/** Metadata with more values than a page can have. */
const heavy = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`a${at}`, ""]));

type Reading = Readonly<{
  others: OthersObjects;
  seen: readonly KubernetesObject[];
  excesses: readonly Excess[];
  names: () => Promise<readonly (string | undefined)[]>;
}>;

/** Reads the objects below this path. `names`: the names of the objects that are shown. */
function readingOf(cluster: Cluster, path = secrets): Reading {
  const [seen, excesses]: [KubernetesObject[], Excess[]] = [[], []];
  const keep = (object: KubernetesObject) => {
    seen.push(object);
    return { name: object.metadata?.name ?? "" };
  };
  const exceeded = (excess: Excess) => void excesses.push(excess);
  const others = new OthersObjects({ cluster, path, keep, exceeded });
  const names = async () => (await others.all())?.map(({ name }) => name).toSorted() ?? [];
  return { others, seen, excesses, names };
}

type Followed = Reading & Readonly<{ hints: () => number; errors: readonly Error[] }>;

/** Follows the objects while `work` runs. */
async function whileFollowed(
  cluster: Cluster,
  work: (followed: Followed) => Promise<void>,
  path = secrets,
): Promise<void> {
  const reading = readingOf(cluster, path);
  const stop = new AbortController();
  let hints = 0;
  const errors: Error[] = [];
  const following = reading.others.until({
    hint: () => void (hints += 1),
    failed: (error) => void errors.push(error),
    signal: stop.signal,
  });
  try {
    await work({ ...reading, hints: () => hints, errors });
  } finally {
    stop.abort();
    await following;
  }
}

async function withLargeObject(): Promise<Cluster> {
  const cluster = directly(new FakeApi(), "test");
  await cluster.create(secrets, secret("heavy", heavy));
  await cluster.create(secrets, secret("light"));
  return cluster;
}

const large: Excess = { is: "large", name: "heavy" };

test("lists metadata only, leaves out an object whose metadata is too large, and reports it", async () => {
  const cluster = await withLargeObject();
  const { others, seen, excesses, names } = readingOf(cluster);
  assert.deepEqual(await names(), ["light"]);
  assert.ok(seen.every((object) => !("data" in object)));
  assert.deepEqual([others.isWhole, excesses], [false, [large]]);
  const { metadata } = (await cluster.get<KubernetesObject>(`${secrets}/heavy`)) ?? {};
  await cluster.remove(`${secrets}/heavy`, metadata?.uid ?? "");
  assert.deepEqual(await names(), ["light"]);
  assert.deepEqual([others.isWhole, excesses], [true, [large]]);
});

test("follows metadata only, leaves out an object whose metadata is too large, and reports it", async () =>
  whileFollowed(
    await withLargeObject(),
    async ({ others, seen, excesses, names, hints, errors }) => {
      await until("the list is a hint", () => hints() === 1);
      assert.deepEqual(await names(), ["light"]);
      assert.ok(seen.every((object) => !("data" in object)));
      assert.deepEqual([others.isWhole, excesses, errors], [false, [large], []]);
    },
  ));

/** A cluster with so many objects, whose watch shows `more`. */
function crowd(count: number, more: readonly string[] = []): Cluster {
  const object = (name: string) => ({ metadata: { name, resourceVersion: "1" } });
  const objects = Array.from({ length: count }, (_, at) => object(`a${at}`));
  return {
    async pages(_: string, __: object, each: (items: object[], version: string) => void) {
      // The last page is the one that is cut.
      each(objects.slice(0, 9_990), "1");
      each(objects.slice(9_990), "1");
    },
    async stream(_: string, __: object, signal: AbortSignal, line: (text: string) => void) {
      for (const name of more) {
        const added = { metadata: { name, resourceVersion: "2" } };
        line(JSON.stringify({ type: "ADDED", object: added }));
      }
      await once(signal, "abort");
    },
  } as unknown as Cluster;
}

/** The number of listed objects, and the number that is reported if some are left out. */
for (const [count, reported] of [
  [10_000, undefined],
  [10_001, 10_001],
  [10_007, 10_007],
] as const) {
  const expected = reported === undefined ? [] : [{ is: "many", count: reported }];

  test(`lists at most 10,000 of ${count} objects, and reports how many there are if it leaves some out`, async () => {
    const { others, excesses, names } = readingOf(crowd(count));
    assert.equal((await names()).length, 10_000);
    assert.deepEqual([others.isWhole, excesses], [reported === undefined, expected]);
  });

  test(`follows at most 10,000 of ${count} objects, and reports how many there are if it leaves some out`, async () =>
    whileFollowed(crowd(count), async ({ others, excesses, names, hints }) => {
      await until("the list is a hint", () => hints() === 1);
      assert.equal((await names()).length, 10_000);
      assert.deepEqual([others.isWhole, excesses], [reported === undefined, expected]);
    }));
}

test("leaves out an object that a watch adds to 10,000", async () =>
  whileFollowed(crowd(10_000, ["new"]), async ({ others, names }) => {
    await until("it is left out", () => !others.isWhole);
    const all = await names();
    assert.deepEqual([all.length, all.includes("new")], [10_000, false]);
  }));

test("lists again when an object is deleted while others are left out", async () => {
  const [before, after] = [crowd(10_001), crowd(10_000)];
  let lists = 0;
  const cluster = {
    ...before,
    pages: (...request: Parameters<Cluster["pages"]>) =>
      ((lists += 1) === 1 ? before : after).pages(...request),
    async stream(_: string, __: object, signal: AbortSignal, line: (text: string) => void) {
      const deleted = { metadata: { name: "a0", resourceVersion: "2" } };
      if (lists === 1) line(JSON.stringify({ type: "DELETED", object: deleted }));
      await once(signal, "abort");
    },
  } as Cluster;
  await whileFollowed(cluster, async ({ others, names, errors }) => {
    await until("it is listed again", () => lists === 2);
    await until("no object is left out", () => others.isWhole);
    assert.deepEqual([(await names()).length, errors], [10_000, []]);
  });
});

test("keeps objects that have the same name in several namespaces", async () => {
  const cluster = directly(new FakeApi(), "test");
  for (const namespace of ["a", "b"])
    await cluster.create(`/api/v1/namespaces/${namespace}/secrets`, secret("same"));
  await whileFollowed(
    cluster,
    async ({ names, hints }) => {
      await until("the list is a hint", () => hints() === 1);
      assert.deepEqual(await names(), ["same", "same"]);
    },
    "/api/v1/secrets",
  );
});

test("shows no objects until the first list, then those of the watch, or its error while it has none", async () => {
  const api = new FakeApi();
  const live = directly(api, "test");
  await live.create(secrets, secret("light"));
  const { promise: blocked, resolve: release } = Promise.withResolvers<void>();
  const pages: Cluster["pages"] = async (...request) => {
    await blocked;
    await live.pages(...request);
  };
  api.refuses = (_, verb) =>
    verb === "list" ? new Refusal(403, "Forbidden", "may not") : undefined;
  await whileFollowed({ ...live, pages }, async ({ others, names, hints, errors }) => {
    assert.equal(await others.all(), undefined);
    release();
    await until("the error is a hint", () => hints() === 1);
    await assert.rejects(others.all(), /: 403 Forbidden/);
    assert.equal(errors.length, 1);
    api.refuses = () => undefined;
    await until("the list is a hint", () => hints() > 1 && errors.length === 1);
    assert.deepEqual(await names(), ["light"]);
  });
});
