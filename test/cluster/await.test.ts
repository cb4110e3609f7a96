import assert from "node:assert/strict";
import { test } from "node:test";
import { Hopeless, stays, until, untilSync } from "./await.ts";

test("returns the probe's first answer", async () => {
  let rounds = 0;
  assert.equal(await until("three looks", () => ++rounds === 3 && rounds, { every: 1 }), 3);
});

test("reports the description, the last error and the last state after a timeout", async () => {
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

test("fails at once when the probe throws Hopeless", async () => {
  const waiting = until("it lives", () => Promise.reject(new Hopeless("it died")));
  await assert.rejects(waiting, /^Error: it died$/);
});

test("fails at once when a state does not stay", async () => {
  await stays("one is one", () => true, 5);
  let rounds = 0;
  await assert.rejects(
    stays("there are few checks", () => ++rounds < 2, 60_000),
    /no longer true that there are few checks/,
  );
});

test("returns true after a synchronous wait only if the probe succeeded", () => {
  let rounds = 0;
  assert.equal(
    untilSync(() => ++rounds === 2, 1000),
    true,
  );
  assert.equal(
    untilSync(() => false, 5),
    false,
  );
});
