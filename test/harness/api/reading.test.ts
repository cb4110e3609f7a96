import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Replacing } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "./api.ts";
import { directly } from "./direct.ts";
import type { Stored } from "./protocol.ts";

const named = (name: string, labels: Record<string, string> = {}, more: object = {}) => ({
  metadata: { name, labels },
  ...more,
});

async function filled(
  ...objects: readonly object[]
): Promise<{ api: FakeApi; cluster: Replacing }> {
  const api = new FakeApi();
  const cluster = directly(api, "test");
  for (const object of objects) await cluster.create(collections.pods, object);
  return { api, cluster };
}

async function names(cluster: Replacing, query: Record<string, string>): Promise<string[]> {
  const podNames: string[] = [];
  await cluster.pages<Stored>(collections.pods, query, (items) => {
    podNames.push(...items.map(({ metadata }) => metadata.name));
  });
  return podNames;
}

type List = { metadata: { resourceVersion: string; continue?: string }; items: Stored[] };
const path = (query: Record<string, string>) =>
  `${collections.pods}?${new URLSearchParams(query).toString()}`;

describe("fake API server: reads", () => {
  test("selects by labels and by fields", async () => {
    const { cluster } = await filled(
      named("a", { tier: "one", own: "" }, { spec: { nodeName: "n" } }),
      named("b", { tier: "two" }),
      named("c"),
    );
    const by = (labelSelector: string) => names(cluster, { labelSelector });
    assert.deepEqual(await by("tier=one"), ["a"]);
    assert.deepEqual(await by("tier!=one"), ["b", "c"]);
    assert.deepEqual(await by("tier in (one, two),!own"), ["b"]);
    assert.deepEqual(await by("tier notin (two)"), ["a", "c"]);
    assert.deepEqual(await by("tier"), ["a", "b"]);
    assert.deepEqual(await names(cluster, { fieldSelector: "metadata.name=c" }), ["c"]);
    assert.deepEqual(await names(cluster, { fieldSelector: "spec.nodeName!=n" }), ["b", "c"]);
  });

  test("lists by pages, and refuses to continue after a compaction", async () => {
    const { api, cluster } = await filled(named("a"), named("b"), named("c"));
    const first = await cluster.get<List>(path({ limit: "2" }));
    const { continue: next = "" } = first?.metadata ?? {};
    assert.deepEqual(
      first?.items.map(({ metadata }) => metadata.name),
      ["a", "b"],
    );
    const second = await cluster.get<List>(path({ limit: "2", continue: next }));
    assert.deepEqual(
      second?.items.map(({ metadata, kind }) => [metadata.name, kind]),
      [["c", undefined]],
    );
    assert.equal(second?.metadata.continue, undefined);
    api.store.compact();
    await assert.rejects(
      cluster.get(path({ limit: "2", continue: next })),
      (error: unknown) => error instanceof ApiError && error.status === 410,
    );
  });

  test("returns only metadata on request", async () => {
    const { cluster } = await filled(named("a", {}, { spec: {} }));
    await cluster.replace(`${collections.pods}/a/status`, { status: { phase: "Running" } });
    const partial = await cluster.get<Stored>(`${collections.pods}/a`, { as: "metadata" });
    assert.deepEqual([partial?.kind, partial?.status], ["PartialObjectMetadata", undefined]);
  });

  test("serves a custom resource as soon as its CRD exists, with the defaults of its schema", async () => {
    const { api, cluster } = await filled();
    const group = "example.io";
    const where = `/apis/${group}/v1/things`;
    assert.equal(await cluster.get(`${where}/a`), undefined);
    api.store.define(`
spec:
  group: ${group}
  names: { plural: things, kind: Thing }
  versions:
    - name: v1
      subresources: { status: {} }
      schema:
        openAPIV3Schema: { properties: { spec: { default: {}, properties: { size: { default: 3 } } } } }
`);
    const created = await cluster.create<Stored>(where, named("a"));
    assert.deepEqual(
      [created.kind, created.spec, created.metadata.generation],
      ["Thing", { size: 3 }, 1],
    );
    const groups = await cluster.get<{ groups: { name: string }[] }>("/apis");
    assert.ok(groups?.groups.some(({ name }) => name === group));
  });
});

describe("fake API server: watches", () => {
  /** Collects the events of a watch as they arrive. The watch ends with the test. */
  function watched(cluster: Replacing, query: Record<string, string>, signal: AbortSignal) {
    const events: string[] = [];
    const ended = cluster
      .stream(collections.pods, query, signal, (line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: Stored };
        events.push(`${type} ${object.metadata.name ?? String(object["code"])}`);
      })
      .catch(() => {});
    return { events, ended };
  }

  async function settled(): Promise<void> {
    await new Promise((resolve) => void setImmediate(resolve));
  }

  test("streams the changes after a version, and then all later changes", async (t) => {
    const { cluster } = await filled(named("a"));
    const { metadata } = (await cluster.get<List>(collections.pods)) ?? { metadata: undefined };
    const { metadata: b } = await cluster.create<Stored>(collections.pods, named("b"));
    const resourceVersion = metadata?.resourceVersion ?? "";
    const { events } = watched(cluster, { resourceVersion }, t.signal);
    await settled();
    assert.deepEqual(events, ["ADDED b"]);
    await cluster.replace(`${collections.pods}/b`, named("b", { x: "1" }));
    await cluster.remove(`${collections.pods}/b`, b.uid);
    await settled();
    assert.deepEqual(events.slice(1), ["MODIFIED b", "DELETED b"]);
  });

  test("sends only metadata on request", async () => {
    const { api } = await filled(named("a", {}, { spec: { nodeName: "n" } }));
    const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const query = { watch: "true" };
    const answer = api.answer({ method: "GET", path: collections.pods, query, accept });
    assert.ok("follow" in answer);
    const objects: Stored[] = [];
    const end = answer.follow((line) => {
      objects.push((JSON.parse(line) as { object: Stored }).object);
    });
    api.answer({ method: "POST", path: collections.pods, body: named("b", {}, { spec: {} }) });
    end();
    assert.deepEqual(
      objects.map(({ kind, metadata, spec }) => [kind, metadata.name, spec]),
      [
        ["PartialObjectMetadata", "a", undefined],
        ["PartialObjectMetadata", "b", undefined],
      ],
    );
  });

  test("shows an object as added when it starts to match the selector, and as deleted when it stops", async (t) => {
    const { cluster } = await filled(named("a"), named("b"));
    const { events } = watched(cluster, { labelSelector: "x=1" }, t.signal);
    await settled();
    for (const value of ["1", "2"])
      await cluster.replace(`${collections.pods}/a`, named("a", { x: value }));
    await settled();
    assert.deepEqual(events, ["ADDED a", "DELETED a"]);
  });

  test("sends an error after a compaction if the watch's version is too old", async (t) => {
    const { api, cluster } = await filled(named("a"));
    const list = await cluster.get<List>(collections.pods);
    api.store.compact();
    const resourceVersion = list?.metadata.resourceVersion ?? "";
    const { events } = watched(cluster, { resourceVersion }, t.signal);
    await settled();
    assert.deepEqual(events, ["ERROR 410"]);
  });

  test("keeps only a thousand changes for watches", async (t) => {
    const { cluster } = await filled(named("a"));
    const list = await cluster.get<List>(collections.pods);
    for (let change = 0; change < 1002; change++)
      await cluster.replace(`${collections.pods}/a`, named("a", { x: String(change) }));
    const resourceVersion = list?.metadata.resourceVersion ?? "";
    const { events } = watched(cluster, { resourceVersion }, t.signal);
    await settled();
    assert.deepEqual(events, ["ERROR 410"]);
  });

  test("ends when the client aborts the watch", async () => {
    const { cluster } = await filled();
    const stop = new AbortController();
    const { ended } = watched(cluster, {}, stop.signal);
    stop.abort();
    await ended;
  });
});
