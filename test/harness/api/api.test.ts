import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { V1Pod, V1Secret } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Replacing } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "./api.ts";
import { directly } from "./direct.ts";
import { Refusal, type Stored } from "./protocol.ts";
import { Store } from "./store.ts";

const secretPath = `${collections.secrets}/one`;
const secret = (data: Record<string, string>, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "one", ...metadata },
  data,
});
const mine = { manager: "mine", force: false };

function setUp(): { api: FakeApi; cluster: Replacing } {
  const api = new FakeApi(new Store(() => new Date("2026-01-01T00:00:00.500Z")));
  return { api, cluster: directly(api, "test") };
}

const refusedWith = (status: number, reason: string) => (error: unknown) =>
  error instanceof ApiError && error.status === status && error.reason === reason;

describe("fake API server: writes", () => {
  test("creates an object with metadata of its own, and refuses to create it again", async () => {
    const { cluster } = setUp();
    const created = await cluster.create<Stored>(collections.secrets, secret({ a: "1" }));
    assert.equal(created.metadata.creationTimestamp, "2026-01-01T00:00:00Z");
    assert.equal(created.metadata.namespace, "kube-system");
    assert.deepEqual(await cluster.get(secretPath), created);
    await assert.rejects(
      cluster.create(collections.secrets, secret({})),
      refusedWith(409, "AlreadyExists"),
    );
  });

  test("refuses a replacement with another version or uid, and accepts a replacement without a version", async () => {
    const { cluster } = setUp();
    const created = await cluster.create<V1Secret>(collections.secrets, secret({ a: "1" }));
    const changed = await cluster.replace<V1Secret>(secretPath, { ...created, data: { a: "2" } });
    const conflict = refusedWith(409, "Conflict");
    await assert.rejects(cluster.replace(secretPath, { ...created, data: { a: "3" } }), conflict);
    await assert.rejects(
      cluster.replace(secretPath, secret({ a: "3" }, { uid: "other" })),
      conflict,
    );
    assert.equal(
      (await cluster.replace<V1Secret>(secretPath, secret({ a: "3" }))).data?.["a"],
      "3",
    );
    assert.ok(
      Number(changed.metadata?.resourceVersion) > Number(created.metadata?.resourceVersion),
    );
  });

  test("merges a patch that contains the object's version and uid, and refuses a patch with another version or uid", async () => {
    const { cluster } = setUp();
    const created = await cluster.create<V1Secret>(
      collections.secrets,
      secret({ a: "1", b: "2" }, { annotations: { one: "1", two: "2" } }),
    );
    const at = {
      uid: created.metadata?.uid ?? "",
      resourceVersion: created.metadata?.resourceVersion ?? "",
    };
    const patch = { metadata: { ...at, annotations: { one: null, three: "3" } }, data: { b: "4" } };
    const patched = await cluster.patch<V1Secret>(secretPath, patch);
    assert.deepEqual(patched.metadata?.annotations, { two: "2", three: "3" });
    assert.deepEqual(patched.data, { a: "1", b: "4" });
    await assert.rejects(cluster.patch(secretPath, patch), refusedWith(409, "Conflict"));
    const { resourceVersion = "" } = patched.metadata ?? {};
    await assert.rejects(
      cluster.patch(secretPath, { metadata: { uid: "other", resourceVersion } }),
      refusedWith(422, "Invalid"),
    );
    const none = `${collections.secrets}/none`;
    await assert.rejects(cluster.patch(none, { metadata: at }), refusedWith(404, "NotFound"));
  });

  test("keeps the version when a write of any kind changes nothing", async () => {
    const { cluster } = setUp();
    const applied = await cluster.apply<V1Secret>(secretPath, secret({ a: "1" }), mine);
    assert.deepEqual(await cluster.apply(secretPath, secret({ a: "1" }), mine), applied);
    assert.deepEqual(await cluster.replace(secretPath, applied), applied);
    const planned = await cluster.apply<V1Secret>(secretPath, secret({ a: "2" }), {
      ...mine,
      dryRun: true,
    });
    assert.equal(planned.data?.["a"], "2");
    assert.deepEqual(await cluster.get(secretPath), applied);
  });

  test("counts generations of a DaemonSet's spec, and changes status only through the path of status", async () => {
    const { cluster } = setUp();
    const path = `${collections.daemonSets}/one`;
    const daemonSet = (paused: number) => ({
      metadata: { name: "one" },
      spec: { minReadySeconds: paused },
      status: { numberReady: 7 },
    });
    const created = await cluster.create<Stored>(collections.daemonSets, daemonSet(1));
    assert.deepEqual([created.metadata.generation, created.status], [1, undefined]);
    const reported = await cluster.replace<Stored>(`${path}/status`, daemonSet(2));
    assert.deepEqual([reported.metadata.generation, reported.spec], [1, { minReadySeconds: 1 }]);
    const edited = await cluster.replace<Stored>(path, {
      ...reported,
      ...daemonSet(3),
      status: {},
    });
    assert.deepEqual([edited.metadata.generation, edited.status], [2, { numberReady: 7 }]);
  });

  test("refuses an object of another kind or version than its path names", async () => {
    const { cluster } = setUp();
    const refused = refusedWith(400, "BadRequest");
    for (const wrong of [{ kind: "ConfigMap" }, { apiVersion: "v2" }]) {
      const object = { ...secret({}), ...wrong };
      await assert.rejects(cluster.create(collections.secrets, object), refused);
      await assert.rejects(cluster.apply(secretPath, object, mine), refused);
    }
  });

  test("refuses a Secret that a real API server would refuse", async () => {
    const { cluster } = setUp();
    const type = "kubernetes.io/dockerconfigjson";
    const invalid = refusedWith(422, "Invalid");
    await assert.rejects(cluster.create(collections.secrets, { ...secret({}), type }), invalid);
    await cluster.apply(
      secretPath,
      { ...secret({ a: "1" }), type: "Opaque", immutable: true },
      mine,
    );
    await assert.rejects(cluster.apply(secretPath, secret({ a: "2" }), mine), invalid);
  });

  test("refuses requests as configured, with the time after which to retry", async () => {
    const { api, cluster } = setUp();
    api.refuses = (_, verb) =>
      verb === "get" ? new Refusal(429, "TooManyRequests", "slow down", 7) : undefined;
    const refused = await cluster.get(secretPath).catch((error: ApiError) => error);
    assert.ok(refused instanceof ApiError);
    assert.deepEqual([refused.status, refused.retryAfterSeconds], [429, 7]);
    assert.equal(await cluster.create(collections.secrets, secret({})).then(() => "made"), "made");
    assert.deepEqual(
      api.asked.map(({ verb, resource, name, status }) => [verb, resource, name, status]),
      [
        ["get", "secrets", "one", 429],
        ["create", "secrets", "", 201],
      ],
    );
  });
});

describe("fake API server: server-side apply", () => {
  const owners = (object: Stored) =>
    (object.metadata.managedFields ?? []).map(({ manager, operation, fieldsV1 }) => [
      manager,
      operation,
      fieldsV1,
    ]);

  test("refuses to change another manager's field, and takes the field over if forced", async () => {
    const { cluster } = setUp();
    await cluster.apply(secretPath, secret({ a: "1", b: "1" }), mine);
    const theirs = { manager: "theirs", force: false };
    await assert.rejects(
      cluster.apply(secretPath, secret({ a: "2" }), theirs),
      refusedWith(409, "Conflict"),
    );
    const forced = await cluster.apply<Stored>(secretPath, secret({ a: "2" }), {
      ...theirs,
      force: true,
    });
    assert.deepEqual(forced.data, { a: "2", b: "1" });
    assert.deepEqual(owners(forced), [
      ["mine", "Apply", { "f:data": { "f:b": {} } }],
      ["theirs", "Apply", { "f:data": { "f:a": {} } }],
    ]);
  });

  test("lets two managers own a field that both declare with the same value", async () => {
    const { cluster } = setUp();
    await cluster.apply(secretPath, secret({ a: "1" }), mine);
    await cluster.apply(secretPath, secret({ a: "1" }), { manager: "theirs", force: false });
    const applied = await cluster.apply<V1Secret>(secretPath, secret({ b: "1" }), mine);
    assert.deepEqual(applied.data, { a: "1", b: "1" });
  });

  test("removes fields that a manager no longer declares, and keeps fields that others wrote", async () => {
    const { cluster } = setUp();
    const labels = (...names: string[]) => ({
      labels: Object.fromEntries(names.map((name) => [name, "x"])),
    });
    const applied = await cluster.apply<V1Secret>(
      secretPath,
      secret({ a: "1" }, labels("a", "b")),
      mine,
    );
    await cluster.replace(secretPath, { ...applied, data: { ...applied.data, others: "1" } });
    const reapplied = await cluster.apply<V1Secret>(
      secretPath,
      secret({ c: "1" }, labels("b")),
      mine,
    );
    assert.deepEqual(
      [reapplied.data, reapplied.metadata?.labels],
      [{ others: "1", c: "1" }, { b: "x" }],
    );
    const none = await cluster.apply<V1Secret>(secretPath, secret({ c: "1" }), mine);
    assert.equal(none.metadata?.labels, undefined);
  });

  test("merges containers by their names, and replaces lists without keys", async () => {
    const { cluster } = setUp();
    const path = `${collections.pods}/one`;
    const pod = (...containers: object[]) => ({
      apiVersion: "v1",
      kind: "Pod",
      spec: { containers, tolerations: containers },
    });
    const applied = await cluster.apply<V1Pod>(path, pod({ name: "a", args: ["1", "2"] }), mine);
    const others = [...(applied.spec?.containers ?? []), { name: "b" }];
    await cluster.replace(path, { ...applied, spec: { ...applied.spec, containers: others } });
    const reapplied = await cluster.apply<V1Pod & Stored>(
      path,
      pod({ name: "a", args: ["3"] }),
      mine,
    );
    assert.deepEqual(reapplied.spec?.containers, [{ name: "a", args: ["3"] }, { name: "b" }]);
    assert.deepEqual(reapplied.spec?.tolerations, [{ name: "a", args: ["3"] }]);
    assert.deepEqual(
      owners(reapplied).find(([manager]) => manager === "test"),
      ["test", "Update", { "f:spec": { "f:containers": { 'k:{"name":"b"}': { "f:name": {} } } } }],
    );
  });

  test("merges the lists of a custom resource by the keys of its schema", async () => {
    const { api, cluster } = setUp();
    const type = (kind: string, keys: string) =>
      `x-kubernetes-list-type: ${kind}, x-kubernetes-list-map-keys: [${keys}]`;
    api.store.define(`
spec:
  group: example.io
  names: { plural: things, kind: Thing }
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          properties: { spec: { properties: { ports: { ${type("map", "port")} }, env: {} } } }
`);
    const path = "/apis/example.io/v1/things/one";
    const thing = (...ports: number[]) => ({
      apiVersion: "example.io/v1",
      kind: "Thing",
      spec: { ports: ports.map((port) => ({ port })), env: ports },
    });
    await cluster.apply(path, thing(1), mine);
    const theirs = { manager: "theirs", force: true };
    const both = await cluster.apply<Stored>(path, thing(2), theirs);
    assert.deepEqual(both.spec, { ports: [{ port: 2 }, { port: 1 }], env: [2] });
    const empty = await cluster.apply<Stored>("/apis/example.io/v1/things/two", thing(), mine);
    assert.deepEqual(empty.spec, { ports: [], env: [] });
    assert.deepEqual(owners(empty)[0]?.[2], { "f:spec": { "f:env": {} } });
    assert.deepEqual(owners(both)[0]?.[2], {
      "f:spec": { "f:ports": { 'k:{"port":1}': { "f:port": {} } } },
    });
  });

  test("with a version that no object has, an apply creates an object but changes none; with a deleted object's uid, it creates none", async () => {
    const { cluster } = setUp();
    const conflict = refusedWith(409, "Conflict");
    const applied = await cluster.apply<V1Secret>(
      secretPath,
      secret({}, { resourceVersion: newborn }),
      mine,
    );
    await assert.rejects(
      cluster.apply(secretPath, secret({}, { resourceVersion: newborn }), mine),
      conflict,
    );
    const uid = applied.metadata?.uid ?? "";
    await cluster.remove(secretPath, uid);
    await assert.rejects(cluster.apply(secretPath, secret({}, { uid }), mine), conflict);
    await assert.rejects(
      cluster.apply(`${collections.nodes}/a/status`, { status: {} }, mine),
      refusedWith(404, "NotFound"),
    );
  });

  test("stores a field that admission adds, without an owner", async () => {
    const { api, cluster } = setUp();
    api.store.admit = (object) => (object.data = { ...object.data, admitted: "1" });
    const applied = await cluster.apply<Stored>(secretPath, secret({ a: "1" }), mine);
    assert.deepEqual(applied.data, { a: "1", admitted: "1" });
    assert.deepEqual(owners(applied), [["mine", "Apply", { "f:data": { "f:a": {} } }]]);
  });
});

describe("fake API server: deletion", () => {
  test("refuses a deletion for another uid or version, and treats an absent object as deleted", async () => {
    const { cluster } = setUp();
    const { metadata } = await cluster.create<Stored>(collections.secrets, secret({}));
    await assert.rejects(cluster.remove(secretPath, "other"), refusedWith(409, "Conflict"));
    await assert.rejects(
      cluster.remove(secretPath, metadata.uid, "7"),
      refusedWith(409, "Conflict"),
    );
    await cluster.remove(secretPath, metadata.uid, metadata.resourceVersion);
    assert.equal(await cluster.get(secretPath), undefined);
    await cluster.remove(secretPath, metadata.uid);
  });

  test("keeps a deleted object until its finalizers are removed", async () => {
    const { cluster } = setUp();
    const held = secret({}, { finalizers: ["x/y"] });
    const { metadata } = await cluster.create<Stored>(collections.secrets, held);
    await cluster.remove(secretPath, metadata.uid);
    const ending = await cluster.get<Stored>(secretPath);
    assert.equal(ending?.metadata.deletionTimestamp, "2026-01-01T00:00:00Z");
    await cluster.replace(secretPath, secret({}));
    assert.equal(await cluster.get(secretPath), undefined);
  });

  test("keeps a deleted pod that is bound to a node until its kubelet ends it, and deletes other pods at once", async () => {
    const { cluster } = setUp();
    const path = `${collections.pods}/one`;
    const pod = (spec: object) => ({ metadata: { name: "one" }, spec });
    const bound = await cluster.create<Stored>(collections.pods, pod({ nodeName: "a" }));
    await cluster.remove(path, bound.metadata.uid);
    const ending = await cluster.get<Stored>(path);
    assert.equal(ending?.metadata.deletionTimestamp, "2026-01-01T00:00:30Z");
    const deleteOptions = { gracePeriodSeconds: 0, preconditions: { uid: bound.metadata.uid } };
    await cluster.create(`${path}/eviction`, { metadata: { name: "one" }, deleteOptions });
    assert.equal(await cluster.get(path), undefined);
    const pending = await cluster.create<Stored>(collections.pods, pod({}));
    await cluster.remove(path, pending.metadata.uid);
    assert.equal(await cluster.get(path), undefined);
  });
});
