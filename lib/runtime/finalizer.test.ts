import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { writeFinalizer } from "./finalizer.ts";

const path = `${collections.pods}/a`;
const ours = "a.example/ours";
const theirs = "b.example/theirs";

/** An object with these finalizers on a fake API server. */
async function setUp(...finalizers: string[]) {
  const api = new FakeApi();
  const cluster = directly(api, "test");
  const pod = (await cluster.create<V1Pod>(collections.pods, {
    kind: "Pod",
    metadata: { name: "a", finalizers },
    spec: { containers: [] },
  })) as V1Pod & Required<Pick<V1Pod, "metadata">>;
  api.asked.length = 0;
  const stored = () => api.object<V1Pod>(path)?.metadata?.finalizers ?? [];
  return { api, cluster, pod, stored };
}

const rows: readonly (readonly [
  sentence: string,
  before: readonly string[],
  isNeeded: boolean,
  after: readonly string[],
])[] = [
  ["adds our finalizer after another program's", [theirs], true, [theirs, ours]],
  ["removes only our finalizer", [ours, theirs], false, [theirs]],
  ["removes the last finalizer", [ours], false, []],
];
for (const [sentence, before, isNeeded, after] of rows)
  test(sentence, async () => {
    const { cluster, pod, stored } = await setUp(...before);
    const written = await writeFinalizer(cluster, path, pod, ours, isNeeded);
    assert.deepEqual(stored(), after);
    assert.notEqual(written.metadata.resourceVersion, pod.metadata.resourceVersion);
  });

test("writes nothing if the object already is as needed", async () => {
  const { api, cluster, pod } = await setUp(theirs);
  assert.equal(await writeFinalizer(cluster, path, pod, ours, false), pod);
  assert.deepEqual(api.asked, []);
});

for (const isNeeded of [true, false])
  test(`keeps a finalizer that another program added after our read, if we ${isNeeded ? "add" : "remove"} ours`, async () => {
    const { cluster, pod, stored } = await setUp(...(isNeeded ? [] : [ours]));
    await writeFinalizer(cluster, path, pod, theirs, true);
    const before = stored();
    await assert.rejects(
      writeFinalizer(cluster, path, pod, ours, isNeeded),
      (error) => error instanceof ApiError && error.status === 409,
    );
    assert.deepEqual(stored(), before);
    assert.ok(before.includes(theirs));
  });
