import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "./apierror.ts";
import { announcer, type Notice } from "./events.ts";
import type { Cluster } from "./kube.ts";

type Sent = {
  type: string;
  reason: string;
  message: string;
  metadata: { name: string };
  involvedObject: { name: string };
};

/** An API server that knows names, as the real one does. */
function server() {
  const created: Sent[] = [];
  const cluster = {
    async create(path: string, body: Sent) {
      if (created.some(({ metadata }) => metadata.name === body.metadata.name)) {
        throw new ApiError({ status: 409, reason: "AlreadyExists", method: "POST", path });
      }
      created.push(body);
    },
  } as unknown as Cluster;
  return { cluster, created };
}

const notice: Notice = { type: "Normal", reason: "RolledOut", message: "revision 3 is on 2 of 2 nodes", about: "3" };
const secret = { uid: "u1", resourceVersion: "5" };

test("said twice is one Event, by another controller or after a restart as well", async () => {
  const { cluster, created } = server();
  const told: Notice[] = [];
  const [first, second] = [announcer(cluster, (one) => told.push(one)), announcer(cluster, (one) => told.push(one))];
  for (const announce of [first, first, second]) await announce(notice, secret);
  assert.equal(created.length, 1);
  assert.equal(told.length, 1);
  assert.equal(created[0]?.involvedObject.name, "additional-pull-secret");
});

test("the same words about another occasion or another Secret are another Event", async () => {
  const { cluster, created } = server();
  const announce = announcer(cluster, () => {});
  await announce(notice, secret);
  await announce({ ...notice, about: "4" }, secret);
  await announce(notice, { uid: "u2" });
  assert.equal(created.length, 3);
});

test("an Event that could not be sent is tried again", async () => {
  const { cluster, created } = server();
  let refusals = 1;
  const flaky = {
    async create(path: string, body: object) {
      if (refusals-- > 0) throw new ApiError({ status: 500, reason: "InternalError", method: "POST", path });
      await cluster.create(path, body);
    },
  } as unknown as Cluster;
  const announce = announcer(flaky, () => {});
  await assert.rejects(announce(notice, secret));
  await announce(notice, secret);
  assert.equal(created.length, 1);
});

test("a message longer than the API server takes is cut", async () => {
  const { cluster, created } = server();
  await announcer(cluster, () => {})({ ...notice, message: "x".repeat(5000) }, undefined);
  assert.equal(created[0]?.message.length, 1024);
});
