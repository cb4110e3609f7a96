import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { recall, remember } from "./annotations.ts";

test("what is remembered is recalled, and nothing is written when nothing changed", async () => {
  const written: {
    metadata: { annotations: Record<string, string>; uid: string; resourceVersion: string };
  }[] = [];
  const cluster = {
    apply: async (_: string, body: (typeof written)[0]) => void written.push(body),
  } as unknown as Cluster;
  const memory = { rolled: true, released: 3 };
  await remember(cluster, { metadata: { uid: "u", resourceVersion: "7" } }, memory);
  const annotations = written[0]?.metadata.annotations ?? {};
  // In the version that was seen: a controller that stood still remembers what is no longer so.
  assert.equal(written[0]?.metadata.uid, "u");
  assert.equal(written[0]?.metadata.resourceVersion, "7");
  const secret = { metadata: { uid: "u", annotations } };
  assert.deepEqual(recall(secret), memory);
  await remember(cluster, secret, memory);
  assert.equal(written.length, 1);
});

test("what a controller before version 0.2 remembered is recalled, and written under the new names", async () => {
  const before = { "global-pull-secret/rolled": "true", "global-pull-secret/released": "4" };
  const secret = { metadata: { uid: "u", annotations: before } };
  assert.deepEqual(recall(secret), { rolled: true, released: 4 });
  const written: object[] = [];
  const cluster = {
    apply: async (_: string, body: object) => void written.push(body),
  } as unknown as Cluster;
  await remember(cluster, secret, recall(secret));
  const annotations = { "globalpullsecret.io/rolled": "true", "globalpullsecret.io/released": "4" };
  assert.partialDeepStrictEqual(written, [{ metadata: { annotations } }]);
});

test("malformed annotations read as nothing", () => {
  const annotations = { "globalpullsecret.io/released": "soon" };
  assert.deepEqual(recall({ metadata: { annotations } }), { rolled: false, released: 0 });
});

test("conditions that a controller before 0.2 left there go: only who may read the credentials saw them", async () => {
  for (const name of ["globalpullsecret.io/conditions", "global-pull-secret/conditions"]) {
    const annotations = { [name]: "[]", "globalpullsecret.io/rolled": "true" };
    const written: { metadata: { annotations: object } }[] = [];
    const cluster = {
      apply: async (_: string, body: (typeof written)[0]) => void written.push(body),
    } as unknown as Cluster;
    const secret = { metadata: { uid: "u", annotations } };
    await remember(cluster, secret, recall(secret));
    // An apply without it: the API server takes away what its manager no longer says.
    const after = written.map(({ metadata }) => metadata.annotations);
    assert.deepEqual(after, [{ "globalpullsecret.io/rolled": "true" }]);
  }
});
