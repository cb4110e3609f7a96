import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { statusWriter } from "./status.ts";

const object = (uid = "u"): GlobalPullSecret => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name: "cluster", uid },
});
const status = (inForce: number): GlobalPullSecretStatus => ({ revision: { inForce } });
const refusal = (code: number, denied = false) =>
  new ApiError({ status: code, reason: "No", method: "PATCH", path: "/x", denied });

/**
 * An API server that first fails with these errors and then accepts statuses. The writer's pauses
 * end only when the test ends them.
 */
function bench(...errors: readonly Error[]) {
  const clock = { milliseconds: 0 };
  const sent: {
    revision: number | undefined;
    path: string;
    uid: string;
    manager: string;
    force: boolean | undefined;
  }[] = [];
  const failed: string[] = [];
  const pauses: { milliseconds: number; end: () => void }[] = [];
  const remainingErrors = [...errors];
  const answers: GlobalPullSecret[] = [];
  const stop = new AbortController();
  const apply = async (
    path: string,
    body: object,
    { manager, force }: Parameters<Cluster["apply"]>[2],
  ) => {
    const applied = body as GlobalPullSecret;
    const { metadata, status: said } = applied;
    sent.push({ revision: said?.revision?.inForce, path, uid: metadata.uid ?? "", manager, force });
    const error = remainingErrors.shift();
    if (error !== undefined) throw error;
    const resourceVersion = String(100 + answers.length);
    const answer = { ...applied, metadata: { ...metadata, resourceVersion } };
    answers.push(answer);
    return answer;
  };
  const writer = statusWriter<GlobalPullSecret, GlobalPullSecretStatus>({
    cluster: { apply: apply as Cluster["apply"] },
    path: () => globalPullSecretPath,
    manager: "global-pull-secret-status",
    failed: ({ message }) => failed.push(message),
    signal: stop.signal,
    now: () => clock.milliseconds,
    pause: async (milliseconds) =>
      new Promise<void>((end) => {
        pauses.push({ milliseconds, end });
      }),
  });
  /** Waits until the writer is in its next pause, or has nothing left to write. */
  const flush = async () => {
    for (let step = 0; step < 20; step += 1) await Promise.resolve();
  };
  return { writer, sent, failed, pauses, flush, answers, clock, stop };
}

test("writes only the last of the statuses within a second, with status's own manager", async () => {
  const { writer, sent, pauses, flush } = bench();
  writer.write(object(), status(1));
  await flush();
  writer.write(object(), status(2));
  writer.write(object(), status(3));
  await flush();
  assert.deepEqual(
    sent.map(({ revision }) => revision),
    [1],
  );
  assert.equal(pauses[0]?.milliseconds, 1000);
  pauses[0]?.end();
  await flush();
  assert.deepEqual(
    sent.map(({ revision }) => revision),
    [1, 3],
  );
  assert.match(sent[0]?.path ?? "", /globalpullsecrets\/cluster\/status$/);
  assert.equal(sent[0]?.manager, "global-pull-secret-status");
  assert.equal(sent[0]?.force, true, "takes over fields that another client wrote");
});

test("does not write a status that is already there, whichever controller wrote it", async () => {
  const { writer, sent, pauses, flush } = bench();
  writer.write({ ...object(), status: status(1) }, status(1));
  await flush();
  assert.equal(sent.length, 0);
  writer.write(object(), status(2));
  await flush();
  pauses[0]?.end();
  await writer.idle();
  // The informer is behind and still shows the object without a status.
  writer.write(object(), status(2));
  await flush();
  assert.equal(sent.length, 1);
});

test("reports a failed write, and retries it with growing pauses and the current status", async () => {
  const { writer, sent, failed, pauses, flush } = bench(refusal(500), refusal(403));
  writer.write(object(), status(1));
  await flush();
  writer.write(object(), status(2));
  pauses[0]?.end();
  await flush();
  pauses[1]?.end();
  await flush();
  assert.deepEqual(
    sent.map(({ revision }) => revision),
    [1, 2, 2],
  );
  assert.equal(failed.length, 2);
  assert.ok((pauses[1]?.milliseconds ?? 0) >= 1000);
});

for (const code of [404, 409]) {
  test(`gives up a status if its object is gone or was replaced (${code}), and writes the whole next status`, async () => {
    const { writer, sent, failed, pauses, flush } = bench(refusal(code));
    writer.write(object(), status(1));
    await flush();
    assert.equal(pauses[0]?.milliseconds, 1000);
    pauses[0]?.end();
    await writer.idle();
    assert.deepEqual(failed, []);
    writer.write(object("another"), status(1));
    await flush();
    assert.deepEqual(
      sent.map(({ uid }) => uid),
      ["u", "another"],
    );
  });

  test(`writes the status of a new object that is queued while the old object's write fails (${code})`, async () => {
    const { writer, sent, failed, pauses, flush } = bench(refusal(code));
    writer.write(object(), status(1));
    writer.write(object("another"), status(2));
    await flush();
    pauses[0]?.end();
    await flush();
    assert.deepEqual(
      sent.map(({ uid, revision }) => [uid, revision]),
      [
        ["u", 1],
        ["another", 2],
      ],
    );
    assert.deepEqual(failed, []);
  });

  test(`reports a denial by a webhook (${code}), and retries the status`, async () => {
    const { writer, sent, failed, pauses, flush } = bench(refusal(code, true));
    writer.write(object(), status(1));
    await flush();
    assert.equal(failed.length, 1);
    pauses[0]?.end();
    await flush();
    assert.deepEqual(
      sent.map(({ revision }) => revision),
      [1, 1],
    );
  });
}

const shown: readonly (readonly [
  what: string,
  found: GlobalPullSecretStatus,
  version: string,
  seconds: number,
  written: boolean,
])[] = [
  ["as we left it", status(1), "100", 600, false],
  ["an older status, because the watch lags", status(0), "99", 1, false],
  ["an older status for more than a minute, because etcd was restored", status(0), "99", 61, true],
  ["what someone else wrote after us", status(9), "101", 1, true],
  ["our status in a later version of the object, whose spec changed", status(1), "101", 600, false],
];
for (const [what, shownStatus, version, seconds, written] of shown)
  test(`the object's status is ${what}: it is ${written ? "" : "not "}written again`, async () => {
    const { writer, sent, pauses, flush, answers, clock } = bench();
    writer.write(object(), status(1));
    await flush();
    pauses[0]?.end();
    await writer.idle();
    assert.equal(answers.length, 1);
    clock.milliseconds += seconds * 1000;
    const metadata = { ...object().metadata, resourceVersion: version };
    writer.write({ ...object(), metadata, status: shownStatus }, status(1));
    await flush();
    assert.equal(sent.length, written ? 2 : 1);
  });

test("does not retry a status after its signal has aborted", async () => {
  const { writer, sent, pauses, flush, stop } = bench(refusal(403));
  writer.write(object(), status(1));
  await flush();
  stop.abort();
  pauses[0]?.end();
  await writer.idle();
  writer.write(object(), status(2));
  await writer.idle();
  assert.equal(sent.length, 1);
});

test("writes a changed status although the object's version is not a number", async () => {
  const { writer, sent, pauses, flush } = bench();
  writer.write(object(), status(1));
  await flush();
  pauses[0]?.end();
  await writer.idle();
  const metadata = { ...object().metadata, resourceVersion: "x" };
  const opaque = { ...object(), metadata, status: status(9) };
  writer.write(opaque, status(1));
  writer.write(opaque, status(2));
  await flush();
  assert.deepEqual(
    sent.map(({ revision }) => revision),
    [1, 2],
  );
});

test("continues the last status of the same object only, and writes the same status to another", async () => {
  const { writer, sent, pauses, flush } = bench();
  const shownObject = { ...object(), status: status(7) };
  const another = { ...object("another"), status: status(8) };
  assert.deepEqual(writer.before(shownObject), status(7));
  writer.write(shownObject, status(1));
  assert.deepEqual(writer.before(shownObject), status(1), "it is queued");
  assert.deepEqual(writer.before(another), status(8));
  await flush();
  pauses[0]?.end();
  await writer.idle();
  assert.deepEqual(writer.before(shownObject), status(1), "it is written");
  assert.deepEqual(writer.before(another), status(8));
  writer.write(another, status(1));
  await flush();
  assert.deepEqual(
    sent.map(({ uid, revision }) => [uid, revision]),
    [
      ["u", 1],
      ["another", 1],
    ],
  );
});

/** A clock, and an API server in which another client at once overwrites each status of ours. */
function fight(t: TestContext) {
  let milliseconds = 0;
  t.mock.method(performance, "now", () => milliseconds);
  let version = 100;
  const pauses: { until: number; end: () => void }[] = [];
  const written: { milliseconds: number; revision: number | undefined }[] = [];
  let live: GlobalPullSecret = object();
  const put = (next: GlobalPullSecretStatus) => {
    version += 1;
    const metadata = { ...object().metadata, resourceVersion: String(version) };
    live = { ...object(), metadata, status: next };
    return live;
  };
  const apply = async (_path: string, body: object) => {
    const { status: next = {} } = body as GlobalPullSecret;
    written.push({ milliseconds, revision: next.revision?.inForce });
    const answer = put(next);
    put(status(99));
    return answer;
  };
  const writer = statusWriter<GlobalPullSecret, GlobalPullSecretStatus>({
    cluster: { apply: apply as Cluster["apply"] },
    path: () => globalPullSecretPath,
    manager: "global-pull-secret-status",
    failed: ({ message }) => assert.fail(message),
    pause: (length) => new Promise((end) => pauses.push({ until: milliseconds + length, end })),
  });
  /** For that many seconds, each run finds the live object, and reports this status. */
  const report = async (seconds: number, ours: GlobalPullSecretStatus) => {
    for (const end = milliseconds + seconds * 1000; milliseconds < end; milliseconds += 200) {
      for (const pause of pauses) if (pause.until <= milliseconds) pause.end();
      for (let step = 0; step < 20; step += 1) await Promise.resolve();
      writer.write(live, ours);
      for (let step = 0; step < 20; step += 1) await Promise.resolve();
    }
  };
  return { written, report };
}

test("writes a status that another client overwrites each time twenty times again, and then once a minute", async (t) => {
  const { written, report } = fight(t);
  await report(600, status(1));
  const [quick, slow] = [60_000, 600_000].map(
    (end) => written.filter(({ milliseconds }) => milliseconds < end).length,
  );
  assert.ok(quick !== undefined && quick >= 20 && quick <= 22, String(quick));
  assert.ok(slow !== undefined && slow - quick >= 8 && slow - quick <= 10, String(slow));
});

test("writes a changed status within a minute although another client overwrites each status", async (t) => {
  const { written, report } = fight(t);
  await report(120, status(1));
  const { length } = written;
  await report(60, status(2));
  assert.deepEqual(
    written.slice(length).map(({ revision }) => revision),
    [2],
  );
});
