import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import { announcer, warn, type About, type Notice } from "./events.ts";
import type { Cluster } from "#kube/client/cluster.ts";

const repeatMilliseconds = 30 * 60_000;

type Sent = {
  type: string;
  reason: string;
  message: string;
  metadata: { name: string };
  involvedObject: { name: string };
  firstTimestamp: string;
  lastTimestamp: string;
};

/**
 * A simulated API server, which refuses an Event whose name exists, and an announcer with its own
 * clock.
 */
function setUp(refuse: (body: Sent) => number = () => 0) {
  const created: Sent[] = [];
  const clock = { time: 0, paused: 0 };
  const [logged, announced, dropped]: [Notice[], Notice[], string[]] = [[], [], []];
  const cluster = {
    async create(path: string, body: Sent) {
      const exists = created.some(({ metadata }) => metadata.name === body.metadata.name);
      const status = exists ? 409 : refuse(body);
      if (status > 0) throw new ApiError({ status, reason: "Refused", method: "POST", path });
      created.push(body);
    },
  } as unknown as Cluster;
  const another = () =>
    announcer({
      cluster,
      component: "test",
      reported: (event) => logged.push(event),
      sent: (event) => announced.push(event),
      dropped: (event, why) => dropped.push(`${event.message}: ${why}`),
      now: () => new Date(clock.time),
      pause: async (milliseconds) => void (clock.paused += milliseconds),
    });
  return { cluster, created, clock, logged, announced, dropped, another };
}

const notice: Notice = {
  type: "Normal",
  reason: "RolledOut",
  message: "revision 3 is on 2 of 2 nodes",
  subject: "3",
};
const about = (metadata: object): About => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "additional-pull-secret", namespace: "kube-system", ...metadata },
});
const secret = about({ uid: "u1", resourceVersion: "5" });

test("creates one Event for a repeated report, even by another controller or after a restart", async () => {
  const { another, created, announced } = setUp();
  const [first, second] = [another(), another()];
  for (const reporter of [first, first, second]) {
    reporter.announce(notice, secret);
    await reporter.idle();
  }
  assert.equal(created.length, 1);
  assert.equal(announced.length, 1);
  assert.equal(created[0]?.involvedObject.name, "additional-pull-secret");
});

test("creates another Event for the same message about another object or Secret", async () => {
  const { another, created } = setUp();
  const { announce, idle } = another();
  announce(notice, secret);
  announce({ ...notice, subject: "4" }, secret);
  announce(notice, about({ uid: "u2" }));
  await idle();
  assert.equal(created.length, 3);
});

test("names the object with its version, the program, and the time of the report", async () => {
  const { another, created, clock } = setUp();
  clock.time = Date.parse("2026-01-02T03:04:05.678Z");
  const { announce, idle } = another();
  announce(notice, secret);
  await idle();
  const [event] = created;
  assert.deepEqual(
    { ...event, metadata: {} },
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: {},
      type: "Normal",
      reason: "RolledOut",
      message: "revision 3 is on 2 of 2 nodes",
      involvedObject: {
        apiVersion: "v1",
        kind: "Secret",
        namespace: "kube-system",
        name: "additional-pull-secret",
        uid: "u1",
        resourceVersion: "5",
      },
      source: { component: "test" },
      reportingComponent: "test",
      firstTimestamp: "2026-01-02T03:04:05Z",
      lastTimestamp: "2026-01-02T03:04:05Z",
      count: 1,
    },
  );
});

test("warns by one Event of each object, and does not fail if the cluster refuses it", async () => {
  const { cluster, created } = setUp(({ message }) => (message === "refused" ? 403 : 0));
  const report = { reason: "Rejected", message: "no" };
  for (const object of [secret, secret, about({ uid: "u2" })])
    await warn(cluster, "test", object, report);
  await warn(cluster, "test", secret, { ...report, message: "refused" });
  assert.deepEqual(
    created.map(({ type, reason, message }) => [type, reason, message]),
    [
      ["Warning", "Rejected", "no"],
      ["Warning", "Rejected", "no"],
    ],
  );
});

test("does not repeat an Event while it is among the last 500, and repeats it after them", async () => {
  const { another, logged } = setUp();
  const { announce, idle } = another();
  const announceAll = async (count: number) => {
    for (let at = 0; at < count; at += 1) {
      announce({ ...notice, subject: String(at) }, secret);
      await idle();
    }
    return logged.length;
  };
  assert.equal(await announceAll(500), 500);
  assert.equal(await announceAll(1), 500);
  assert.equal(await announceAll(501), 501);
  assert.equal(await announceAll(1), 502);
});

test("repeats the Event of a lasting problem every half hour until the problem is over", async () => {
  const { another, created, logged, clock } = setUp();
  const { announce, idle } = another();
  for (let minute = 0; minute < 180; minute += 5) {
    clock.time = minute * 60_000 + 17_000;
    announce({ ...notice, reason: "Rejected", lasting: true }, secret);
    announce(notice, secret);
    await idle();
  }
  for (const reports of [created, logged]) {
    assert.equal(reports.filter(({ reason }) => reason === "Rejected").length, 6);
    assert.equal(reports.filter(({ reason }) => reason === "RolledOut").length, 1);
  }
});

test("repeats the Event of a lasting problem within an hour after a restart", async () => {
  const { another, created, clock } = setUp();
  const lasting = { ...notice, lasting: true };
  clock.time = 1000;
  another().announce(lasting, secret);
  const second = another();
  for (
    clock.time = repeatMilliseconds - 1000;
    clock.time < 2 * repeatMilliseconds;
    clock.time += 60_000
  ) {
    second.announce(lasting, secret);
    await second.idle();
  }
  assert.equal(created.length, 2);
});

test("retries an Event that could not be sent, and delays neither other Events nor the caller", async () => {
  let refusals = 3;
  const { another, created } = setUp(({ message }) =>
    message === "refused" && refusals-- > 0 ? 500 : 0,
  );
  const { announce, idle } = another();
  announce({ ...notice, message: "refused" }, secret);
  announce(notice, secret);
  await idle();
  assert.deepEqual(
    created.map(({ message }) => message),
    [notice.message, "refused"],
  );
});

for (const [refusals, isSent] of [
  [11, true],
  [12, false],
] as const)
  test(`${isSent ? "sends" : "drops"} an Event that a cluster has refused ${refusals} times`, async () => {
    let asked = 0;
    const { another, created, dropped, clock } = setUp(() => (asked++ < refusals ? 500 : 0));
    const { announce, idle } = another();
    announce(notice, secret);
    await idle();
    assert.deepEqual([created.length, dropped.length], isSent ? [1, 0] : [0, 1]);
    assert.ok(clock.paused > 150_000, "five minutes, times 0.5 to 1.5");
  });

test("keeps the newest hundred Events while they cannot be sent", async () => {
  let isAway = true;
  const { another, created } = setUp(() => (isAway ? 500 : 0));
  const { announce, idle } = another();
  const messages = Array.from({ length: 300 }, (_, index) => String(index));
  for (const message of messages) announce({ ...notice, message, subject: message }, secret);
  isAway = false;
  await idle();
  assert.deepEqual(created.map(({ message }) => message).toSorted(), messages.slice(200));
});

test("sends a bounded number of requests to a cluster that refuses Events, and logs all Events", async () => {
  let asked = 0;
  const { another, logged, dropped } = setUp(() => (asked++, 403));
  const { announce, idle } = another();
  for (let index = 0; index < 300; index++) announce({ ...notice, subject: String(index) }, secret);
  await idle();
  assert.equal(logged.length, 300);
  assert.equal(dropped.length, 300);
  assert.ok(asked <= 100 * 12 + 12, `${asked} requests`);
});

test("cuts a message that is longer than a person reads", async () => {
  const { another, created } = setUp();
  const { announce, idle } = another();
  announce({ ...notice, message: "x".repeat(5000) }, about({}));
  await idle();
  assert.equal(created[0]?.message.length, 200);
});

test("names an Event within the limit of names, and never two Events alike", async () => {
  const { another, created } = setUp();
  const { announce, idle } = another();
  const names = ["a", "b"].map((last) => "x".repeat(252) + last);
  for (const name of names) announce(notice, about({ name, uid: name }));
  await idle();
  assert.deepEqual(
    created.map(({ involvedObject }) => involvedObject.name),
    names,
  );
  for (const { metadata } of created) assert.match(metadata.name, /^x{200}\.[\da-f]{16}$/);
  assert.equal(new Set(created.map(({ metadata }) => metadata.name)).size, 2);
});
