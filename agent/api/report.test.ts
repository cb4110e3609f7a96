/** Reports of the agent, against a scripted API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Failure } from "#test/harness/agent/api-server.ts";
import type { Own } from "./api.ts";
import { hasReport, isRevision, order, report, setUp, until } from "./api.fixture.ts";
import { trimmed } from "./objects.ts";

const old = "2020-01-01T00:00:00Z";
const oldSeconds = Date.parse(old) / 1000;
const status = { ...report, since: old, time: old };

test("reports once, as soon as the object exists", async (t) => {
  const { server, open, count } = await setUp(t);
  const api = open();
  api.report(report);
  await until(() => server.watched() === 2);
  assert.equal(count("patch", "own"), 0);
  server.order(order);
  await until(() => server.reports.length === 1);
  const [{ since, time, ...accepted } = { since: 0, time: 0 }] = server.reports;
  assert.deepEqual(accepted, report);
  assert.equal(since, time);
  assert.ok(Math.abs(time - Date.now() / 1000) < 60);
  api.report(report);
  api.report({ ...report, message: "another message" });
  server.order({ ...order, attempt: order.attempt + 1 });
  api.report({ ...report, attempt: order.attempt + 1 });
  await until(() => server.reports.length > 1);
  assert.equal(count("patch", "own"), 2);
});

/** The lengths of the CRD, and characters that the API server refuses or nobody can see. */
const texts: readonly (readonly [what: string, message: string, sent: string])[] = [
  ["an ordinary text", "näme 5", "näme 5"],
  ["the longest text", "x".repeat(800), "x".repeat(800)],
  ["a longer text", `a${"x".repeat(800)}`, `a${"x".repeat(799)}`],
  ["control characters", "a\nb\0\u200bc", "a b  c"],
  ["a half of a character", "a\ud83d", "a "],
  ["a character that is cut", `${"x".repeat(799)}\u{1f600}`, `${"x".repeat(799)} `],
];
for (const [what, message, sent] of texts)
  test(`sends ${what} as the API server accepts it`, () => {
    const version = message.repeat(3);
    const accepted = trimmed({ ...report, message, version });
    assert.deepEqual(accepted, { ...report, message: sent, version: accepted.version });
    assert.equal(accepted.version.length, Math.min(version.length, 64));
  });

test("gives times by the API server's clock, also hours after the agent began", async (t) => {
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + 9 * 3_600_000);
  const { server, open } = await setUp(t);
  const seconds = 1000 * 24 * 3600;
  server.setAhead(seconds * 1000);
  server.order(order);
  open().report(report);
  await until(() => server.reports.length > 0);
  const ahead = (server.reports[0]?.time ?? 0) - Date.now() / 1000;
  assert.ok(Math.abs(ahead - seconds) < 60);
});

test("does not repeat a report that a former agent has given", async (t) => {
  const { server, open, count } = await setUp(t);
  server.order(order);
  server.status(status);
  const api = open();
  api.report(report);
  await until(() => typeof api.seen().own === "object");
  api.report({ ...report, code: "GPS217" });
  await until(() => server.reports.length > 0);
  assert.equal(count("patch", "own"), 1);
});

/** What changed since the former report, and whether `since` is kept. */
const sinces: readonly (readonly [
  changed: Partial<Record<keyof typeof report, string | number>>,
  keeps: boolean,
])[] = [
  [{ attempt: 8 }, true],
  [{ mode: "Reread" }, true],
  [{ version: "2" }, true],
  [{ revision: 8 }, false],
  [{ digest: "b" }, false],
  [{ result: "Failed" }, false],
  [{ code: "GPS217" }, false],
];

for (const [changed, keeps] of sinces)
  test(`${keeps ? "keeps" : "renews"} since in a report with another ${Object.keys(changed).join()}`, async (t) => {
    const { server, open } = await setUp(t);
    server.order(order);
    server.status(status);
    const api = open();
    api.report({ ...report, ...(changed as object) });
    await until(() => server.reports.length > 0);
    const [{ since, time } = { since: 0, time: 0 }] = server.reports;
    assert.ok(time > oldSeconds);
    assert.equal(since, keeps ? oldSeconds : time);
  });

const failures: Readonly<Record<string, Failure>> = {
  "no answer": "closed",
  "a refused right": { status: 403 },
  "an object that does not exist": { status: 404 },
  "a conflict": { status: 409 },
  "too many requests": { status: 429 },
  "an internal error": { status: 500 },
  "an answer that stores nothing": { body: "{}" },
};

for (const [what, failure] of Object.entries(failures))
  test(`pauses longer and longer after ${what}, and sends the newest report`, async (t) => {
    const { server, open, pauses, count } = await setUp(t);
    server.order(order);
    server.fail(failure, ["patch"]);
    const api = open();
    api.report(report);
    await until(() => count("patch", "own") > 10);
    assert.ok(Math.max(...pauses) >= 5000);
    api.report({ ...report, result: "Failed", code: "GPS218" });
    // A request with the former report can be under way.
    const former = count("patch", "own");
    await until(() => count("patch", "own") > former + 1);
    server.heal();
    await until(() => server.reports.length > 0);
    assert.equal(server.reports[0]?.result, "Failed");
  });

test("waits as long as the API server requests before it reports again", async (t) => {
  const { server, open, pauses } = await setUp(t);
  server.order(order);
  server.fail({ status: 429, retryAfter: 30 }, ["patch"]);
  open().report(report);
  await until(() => pauses.length > 3);
  assert.ok(pauses.every((pause) => pause >= 30_000 && pause <= 60_000));
});

test("forgets a failure once a report is accepted", async (t) => {
  const { server, open, pauses, troubles, clock } = await setUp(t);
  server.order(order);
  server.fail({ status: 429, retryAfter: 30 }, ["patch"]);
  const api = open();
  api.report(report);
  await until(() => pauses.length > 1);
  server.heal();
  await until(() => server.reports.length === 1);
  const { length } = pauses;
  server.status({ ...status, version: "another agent" });
  await until(() => server.reports.length === 2);
  assert.ok(pauses.slice(length).every((pause) => pause <= 10_000));
  // This answer comes after the report's.
  await api.leaseRenewed();
  clock.now = 60_000;
  server.fail("closed", ["patch"]);
  api.report({ ...report, code: "GPS217" });
  await until(() => pauses.length > length + 4);
  assert.deepEqual(troubles, []);
});

test("has at most one report under way", async (t) => {
  const { server, open, count } = await setUp(t);
  server.order(order);
  server.fail("silent", ["patch"]);
  const api = open();
  api.report(report);
  await until(() => count("patch", "own") > 0);
  for (let revision = 8; revision < 20; revision += 1) {
    server.order({ ...order, revision });
    api.report({ ...report, revision });
    await until(() => isRevision(api.seen().own, revision));
  }
  assert.equal(count("patch", "own"), 1);
});

test("the report stands in the status when the answer was lost", async (t) => {
  const { server, open, count } = await setUp(t);
  server.order(order);
  server.fail("lost", ["patch"]);
  const api = open();
  api.report(report);
  await until(() => hasReport(api.seen().own, report.code));
  api.report({ ...report, code: "GPS217" });
  await until(() => hasReport(api.seen().own, "GPS217"));
  assert.ok(count("patch", "own") < 10);
});

test("does not show a deleted object because of an answer that comes late", async (t) => {
  const { server, open } = await setUp(t);
  server.order(order);
  server.fail("held", ["patch"]);
  const api = open();
  api.report(report);
  await until(() => hasReport(api.seen().own, report.code));
  server.remove();
  await until(() => api.seen().own === "absent");
  server.heal();
  // This answer comes after the held one.
  await api.leaseRenewed();
  assert.equal(api.seen().own, "absent");
});

test("ignores an event of the watch that is older than the answer to a report", async (t) => {
  const { server, open, changes } = await setUp(t);
  server.order(order);
  const api = open();
  api.report(report);
  await until(() => hasReport(api.seen().own, report.code));
  const { own } = api.seen();
  const metadata = { uid: (own as Own).uid, resourceVersion: "101" };
  server.write(
    "own",
    `${JSON.stringify({ type: "MODIFIED", object: { metadata, spec: order } })}\n`,
  );
  const { count } = changes;
  server.secret({ revision: "7" });
  server.order({ ...order, revision: 8 });
  await until(() => isRevision(api.seen().own, 8) && typeof api.seen().secret === "object");
  assert.equal(changes.count, count + 2);
});

test("answers only its own attempt when the order changes before the report is accepted", async (t) => {
  const { server, open, count } = await setUp(t);
  server.order(order);
  server.fail("closed", ["patch"]);
  const api = open();
  api.report(report);
  await until(() => count("patch", "own") > 0);
  server.remove();
  server.order({ ...order, attempt: order.attempt + 1 });
  server.heal();
  await until(() => server.reports.length > 0);
  assert.equal(server.reports[0]?.attempt, order.attempt);
});

test("reports again to an object that was deleted and created again", async (t) => {
  const { server, open } = await setUp(t);
  server.order(order);
  const api = open();
  api.report(report);
  for (const times of [1, 2]) {
    await until(() => hasReport(api.seen().own, report.code));
    assert.equal(server.reports.length, times);
    server.remove();
    await until(() => api.seen().own === "absent");
    server.order(order);
  }
  await until(() => server.reports.length === 3);
});

test("reports again if another client overwrote the status", async (t) => {
  const { server, open } = await setUp(t);
  server.order(order);
  const api = open();
  api.report(report);
  await until(() => hasReport(api.seen().own, report.code));
  server.status({ ...status, result: "Failed" });
  await until(() => server.reports.length === 2);
  await until(() => hasReport(api.seen().own, report.code));
});

test("pauses longer and longer while another client overwrites each report", async (t) => {
  const { server, open, pauses } = await setUp(t);
  server.order(order);
  const api = open();
  api.report(report);
  for (let times = 1; times <= 8; times += 1) {
    await until(() => server.reports.length === times);
    server.status({ ...status, version: "another agent" });
  }
  await until(() => server.reports.length > 8);
  assert.ok(Math.max(...pauses) >= 5000);
});

test("sends a report at once after a rest", async (t) => {
  const { server, open, pauses, clock } = await setUp(t);
  server.order(order);
  const api = open();
  for (const attempt of [1, 2, 3]) {
    api.report({ ...report, attempt });
    await until(() => hasReport(api.seen().own, report.code, attempt));
    // The watch can show a report before its answer comes. This answer comes later.
    await api.leaseRenewed();
    clock.now += 10_000;
  }
  assert.deepEqual(pauses, []);
});

test("reports to each new order at once, however fast orders follow each other", async (t) => {
  const { server, open, pauses } = await setUp(t);
  const api = open();
  for (const attempt of [1, 2, 3, 4]) {
    server.order({ ...order, attempt });
    api.report({ ...report, attempt });
    await until(() => hasReport(api.seen().own, report.code, attempt));
    // The watch can show a report before its answer comes. This answer comes later.
    await api.leaseRenewed();
  }
  assert.deepEqual(pauses, []);
});

test("cuts texts, and replaces control characters and halves of characters", async (t) => {
  const { server, open } = await setUp(t);
  server.order(order);
  const message = `a\nb\u001b[31m\u0000${"c".repeat(790)}😀tail`;
  open().report({ ...report, message, version: "1".repeat(70) });
  await until(() => server.reports.length > 0);
  const [accepted] = server.reports;
  assert.equal(accepted?.message, `a b [31m ${"c".repeat(790)} `);
  assert.equal(accepted?.version, "1".repeat(64));
});

test("returns when the kubelet renewed its Lease, and undefined if that is unknown", async (t) => {
  const { server, open } = await setUp(t);
  const api = open();
  assert.equal(await api.leaseRenewed(), undefined);
  for (const text of ["2025-11-29T11:33:20.123456Z", "", "soon"]) {
    server.lease(text);
    const expected = text.startsWith("2025") ? 1_764_416_000_123 : undefined;
    assert.equal(await api.leaseRenewed(), expected, text);
  }
  for (const failure of ["closed", { status: 403 }, { body: "null" }] as const) {
    server.fail(failure, ["lease"]);
    assert.equal(await api.leaseRenewed(), undefined);
  }
});
