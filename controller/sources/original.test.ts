import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { originalReader } from "./original.ts";

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
