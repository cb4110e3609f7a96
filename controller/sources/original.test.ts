import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { temporary } from "#test/temporary.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { parseConfig } from "../policy/config.ts";
import { openOriginal, originalReader } from "./original.ts";

const secret = { metadata: { name: "pull-secret" } };
const refused = (status: number) =>
  new ApiError({ status, reason: "R", method: "GET", path: "/p" });

/** A reader whose cluster gives these answers one by one, and then repeats the last answer. */
function reading(...answers: (() => Promise<unknown>)[]) {
  let [asked, time] = [0, 0];
  const reported: (string | undefined)[] = [];
  const informer = new Informer();
  const get = () => (answers[Math.min(asked++, answers.length - 1)] ?? (async () => undefined))();
  const read = originalReader({
    cluster: { get } as unknown as Cluster,
    path: "/p",
    informer,
    now: () => new Date(time),
    changed: (problem) => void reported.push(problem),
  });
  return {
    read,
    informer,
    reported,
    asked: () => asked,
    pass: (seconds: number) => (time += seconds * 1000),
  };
}

const answers: readonly (readonly [
  sentence: string,
  answer: () => Promise<unknown>,
  outcome: unknown,
])[] = [
  ["reads an original that exists", async () => secret, secret],
  ["reports a missing original as absent", async () => undefined, "absent"],
  [
    "reports an original as absent if the controller lacks the right to read it",
    () => Promise.reject(refused(403)),
    "absent",
  ],
  [
    "reports an original as unknown when its API server does not answer",
    () => Promise.reject(refused(0)),
    "unknown",
  ],
  [
    "reports an original as unknown when its API server refuses our credential",
    () => Promise.reject(refused(401)),
    "unknown",
  ],
  [
    "reports an original as unknown when its API server is in trouble",
    () => Promise.reject(refused(500)),
    "unknown",
  ],
  [
    "reports an original as unknown when its credential cannot be obtained",
    () => Promise.reject(new Error("no plugin")),
    "unknown",
  ],
];
for (const [sentence, answer, outcome] of answers) {
  test(`original: ${sentence}`, async () => assert.equal(await reading(answer).read(), outcome));
}

test("original: waits five seconds for an API server that hangs, and then reports the original as unknown", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const outcomes: unknown[] = [];
  const read = reading(() => new Promise(() => {})).read();
  void read.then((outcome) => outcomes.push(outcome));
  t.mock.timers.tick(4999);
  await setImmediate();
  assert.deepEqual(outcomes, []);
  t.mock.timers.tick(1);
  await setImmediate();
  assert.deepEqual(outcomes, ["unknown"]);
});

const away = () => Promise.reject(refused(0));

test("does not read an unreadable original in every run, and reports it once", async () => {
  const on = reading(away);
  for (let rounds = 0; rounds < 100; rounds++) await on.read();
  assert.equal(on.asked(), 1);
  for (let seconds = 0; seconds < 3600; seconds++) {
    on.pass(1);
    assert.equal(await on.read(), "unknown");
  }
  // The pauses double from 0.5 s to 60 s, and each is multiplied by 0.5 to 1.5. So in the end there
  // are at most two requests a minute.
  assert.ok(on.asked() > 30 && on.asked() < 140, `${on.asked()} requests in an hour`);
  assert.equal(on.reported.length, 1);
});

test("reads an original again when it becomes readable, and reports this change", async () => {
  const on = reading(away, async () => secret);
  await on.read();
  on.pass(1);
  assert.equal(await on.read(), secret);
  assert.equal(on.reported.length, 2);
  assert.equal(on.reported[1], undefined);
});

test("uses the result of a watch at once, without a pause", async () => {
  const on = reading(away, async () => secret);
  await on.read();
  on.informer.listed(secret, "1");
  assert.equal(await on.read(), secret);
  on.informer.lost();
  assert.equal(await on.read(), secret, "the pause ended with the trouble");
});

/** The original of these flags, what was read in the controller's own cluster, and the log. */
function opened(get: (path: string) => Promise<unknown>, ...flags: readonly string[]) {
  const read: string[] = [];
  const lines: string[] = [];
  const home = {
    get: (path: string) => {
      read.push(path);
      return get(path);
    },
  } as unknown as Cluster;
  const write = (line: string) => {
    const { level, msg, problem } = JSON.parse(line) as Record<string, string>;
    lines.push(`${level} ${msg} ${problem ?? ""}`.trim());
  };
  const parsed = parseConfig(flags);
  assert.ok(parsed.ok);
  return { original: openOriginal(parsed.value, home, () => {}, pino({}, { write })), read, lines };
}

test("opens no original without --original", () =>
  assert.equal(opened(async () => secret).original, undefined));

test("reads the original that --original names in the controller's own cluster, and logs when it becomes unreadable and readable", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  let isAway = true;
  const get = () => (isAway ? away() : Promise.resolve(secret));
  const { original, read, lines } = opened(get, "--original", "ns/pull");
  assert.equal(original?.name, "ns/pull");
  assert.equal(await original.read(), "unknown");
  isAway = false;
  t.mock.timers.setTime(1000);
  assert.equal(await original.read(), secret);
  const path = "/api/v1/namespaces/ns/secrets/pull";
  assert.deepEqual(read, [path, path]);
  assert.deepEqual(lines, [
    "40 the original cannot be read; its last accepted document stays in force GET /p: no answer R",
    "30 the original can be read again",
  ]);
});

test("reads the cluster of --original-kubeconfig instead of the controller's own cluster", async (t) => {
  const file = join(temporary(t), "kubeconfig");
  // Nothing listens there.
  const cluster = { server: "http://127.0.0.1:1", "insecure-skip-tls-verify": true };
  const kubeconfig = {
    clusters: [{ name: "a", cluster }],
    users: [{ name: "a", user: {} }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  };
  writeFileSync(file, JSON.stringify(kubeconfig));
  const flags = ["--original", "ns/pull", "--original-kubeconfig", file];
  const { original, read, lines } = opened(async () => secret, ...flags);
  assert.equal(await original?.read(), "unknown");
  assert.deepEqual(read, []);
  assert.match(lines.join(), /^40 the original cannot be read; .*ns\/secrets\/pull: no answer/);
});
