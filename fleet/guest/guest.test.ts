/** What a guest's answer to a write is worth, whatever its watch does. The cluster is scripted. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Cluster } from "#kube/client/cluster.ts";
import { direct } from "../way/direct.ts";
import { Guest } from "./guest.ts";

const content = { type: "Opaque", data: { a: "eA==" } };
const owner = "id/kube-system/pull-secret";
type Body = Readonly<{ metadata: object }>;
type Watch = (signal: AbortSignal) => Promise<void>;

/** A cluster that lists nothing and takes every write; its watches say nothing, and end so. */
async function guestWith(watch: Watch) {
  let writes = 0;
  const cluster = {
    async get() {
      const metadata = { resourceVersion: "1" };
      return { kind: "SecretList", apiVersion: "v1", metadata, items: [] };
    },
    stream: (_path: string, _query: object, signal: AbortSignal) => watch(signal),
    async apply(_path: string, body: Body) {
      writes += 1;
      return { ...body, metadata: { ...body.metadata, uid: "u", resourceVersion: "2" } };
    },
  } as unknown as Cluster;
  const listed = Promise.withResolvers<void>();
  const guest = new Guest({
    way: direct({ namespace: "kube-system", name: "pull-secret" }),
    reach: cluster,
    holds: () => true,
    hint: listed.resolve,
  });
  await listed.promise;
  // Whatever its watch does at once has happened by then.
  await setImmediate();
  return {
    guest,
    writes: () => writes,
    is: () => guest.there(content, owner, Date.now()).is,
    [Symbol.dispose]: () => guest.close(),
  };
}

test("a write that no watch can show is not made again before a list has", async () => {
  using one = await guestWith(async () => {});
  for (let n = 0; n < 3; n++) await one.guest.change(content, owner);
  assert.equal(one.writes(), 1);
  assert.equal(one.guest.busy, true);
});

test("while the watch stands, the answer to a write counts before its event comes, if it ever does", async () => {
  using one = await guestWith(async (signal) => void (await once(signal, "abort")));
  assert.equal(one.is(), "other");
  await one.guest.change(content, owner);
  assert.equal(one.is(), "has");
  assert.equal(one.guest.busy, false);
  assert.equal(one.writes(), 1);
});
