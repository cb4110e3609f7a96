import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { recall, remember } from "./annotations.ts";

test("reads back its own notes, and writes nothing when no note changed", async () => {
  const written: {
    metadata: { annotations: Record<string, string>; uid: string; resourceVersion: string };
  }[] = [];
  const cluster = {
    apply: async (_: string, body: (typeof written)[0]) => void written.push(body),
  } as unknown as Cluster;
  const memory = { rolled: true, released: 3 };
  await remember(cluster, { metadata: { uid: "u", resourceVersion: "7" } }, memory);
  const annotations = written[0]?.metadata.annotations ?? {};
  // The write names the version that was read, because a controller that was suspended can have old
  // data.
  assert.equal(written[0]?.metadata.uid, "u");
  assert.equal(written[0]?.metadata.resourceVersion, "7");
  const secret = { metadata: { uid: "u", annotations } };
  assert.deepEqual(recall(secret), memory);
  await remember(cluster, secret, memory);
  assert.equal(written.length, 1);
});

test("ignores malformed annotations", () => {
  const annotations = { "globalpullsecret.io/released": "soon" };
  assert.deepEqual(recall({ metadata: { annotations } }), { rolled: undefined, released: 0 });
});
