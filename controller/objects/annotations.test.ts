import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { recordReleased, releasedIn } from "./annotations.ts";

test("reads back its own note, and writes nothing when the note is already there", async () => {
  const written: {
    metadata: { annotations: Record<string, string>; uid: string; resourceVersion: string };
  }[] = [];
  const cluster = {
    patch: async (_: string, body: (typeof written)[0]) => void written.push(body),
  } as unknown as Cluster;
  await recordReleased(cluster, { metadata: { uid: "u", resourceVersion: "7" } }, 3);
  const annotations = written[0]?.metadata.annotations ?? {};
  // The write names the version that was read, because a controller that was suspended can have old
  // data.
  assert.equal(written[0]?.metadata.uid, "u");
  assert.equal(written[0]?.metadata.resourceVersion, "7");
  const secret = { metadata: { uid: "u", annotations } };
  assert.equal(releasedIn(secret), 3);
  await recordReleased(cluster, secret, 3);
  assert.equal(written.length, 1);
});

test("ignores a malformed annotation", () => {
  const annotations = { "globalpullsecret.io/released": "soon" };
  assert.equal(releasedIn({ metadata: { annotations } }), 0);
});
