import assert from "node:assert/strict";
import { test } from "node:test";
import { fenced } from "./fenced-client.ts";
import type { Cluster } from "#kube/client/cluster.ts";

const path = "/objects/x";
const options = { manager: "m", force: true };
const requests: Readonly<Record<string, (cluster: Cluster) => Promise<unknown>>> = {
  apply: (cluster) => cluster.apply(path, {}, options),
  "dry apply": (cluster) => cluster.apply(path, {}, { ...options, dryRun: true }),
  create: (cluster) => cluster.create(path, {}),
  patch: (cluster) => cluster.patch(path, { metadata: { uid: "u", resourceVersion: "1" } }),
  remove: (cluster) => cluster.remove(path, "u", "1", "Foreground"),
};

function recorded() {
  const sent: unknown[][] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) =>
      void sent.push([name, ...args]);
  const cluster = Object.fromEntries(
    ["get", "pages", "apply", "create", "patch", "remove"].map((name) => [name, note(name)]),
  );
  return { cluster: cluster as unknown as Cluster, sent };
}

for (const [name, send] of Object.entries(requests)) {
  test(`${name}: is sent unchanged by the writer, and never by a standby`, async () => {
    const { cluster, sent } = recorded();
    let holds = true;
    const guarded = fenced(cluster, () => holds);
    await send(cluster);
    await send(guarded);
    assert.deepEqual(sent[1], sent[0]);
    holds = false;
    await assert.rejects(send(guarded), /409 LeaseLost/);
    assert.equal(sent.length, 2);
  });
}

test("lets a standby read", async () => {
  const { cluster, sent } = recorded();
  await fenced(cluster, () => false).get(path);
  assert.equal(sent.length, 1);
});
