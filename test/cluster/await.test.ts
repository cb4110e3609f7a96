import assert from "node:assert/strict";
import { test } from "node:test";
import { Hopeless, stays, until, untilSync } from "./await.ts";

test("a wait ends with the probe's first answer", async () => {
  let looks = 0;
  assert.equal(await until("three looks", () => ++looks === 3 && looks, { every: 1 }), 3);
});

test("a wait in vain tells what was awaited, the last error and what was seen last", async () => {
  const waiting = until("pigs fly", () => assert.fail("not yet"), {
    timeout: 5,
    every: 1,
    seen: () => ({ pigs: "walking" }),
  });
  await assert.rejects(
    waiting,
    /until pigs fly; last error: not yet; last seen: \{"pigs":"walking"\}/,
  );
});

test("a probe can end a hopeless wait at once", async () => {
  const waiting = until("it lives", () => Promise.reject(new Hopeless("it died")));
  await assert.rejects(waiting, /^Error: it died$/);
});

test("what should stay is watched for the whole time", async () => {
  await stays("one is one", () => true, 5);
  let looks = 0;
  await assert.rejects(
    stays("there are few looks", () => ++looks < 2, 60_000),
    /no longer so that there are few looks/,
  );
});

test("the synchronous wait tells whether it was in vain", () => {
  let looks = 0;
  assert.equal(
    untilSync(() => ++looks === 2, 1000),
    true,
  );
  assert.equal(
    untilSync(() => false, 5),
    false,
  );
});
