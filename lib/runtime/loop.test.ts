import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test, type TestContext } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import { createLoop, hangsSeconds } from "./loop.ts";

const breathe = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A loop under fake time. `advance` lets time pass in steps of 100 ms, and lets the loop do its
 * work after each step.
 */
function simulated(context: TestContext, run: () => Promise<{ seconds: number } | undefined>) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const failures: number[] = [];
  const loop = createLoop({
    run,
    failed(_, count) {
      failures.push(count);
      return undefined;
    },
  });
  const stop = new AbortController();
  const ended = loop.until(stop.signal);
  const advance = async (milliseconds: number) => {
    await breathe();
    for (let passed = 0; passed < milliseconds; passed += 100) {
      context.mock.timers.tick(100);
      await breathe();
    }
  };
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { loop, failures, advance, end };
}

test("makes one further run for any number of hints during a run", async (context) => {
  let runs = 0;
  const { loop, advance, end } = simulated(context, async () => {
    runs += 1;
    if (runs === 1) for (let hint = 0; hint < 100; hint++) loop.hint();
    return undefined;
  });
  await advance(2000);
  assert.equal(runs, 2);
  await end();
});

test("runs again without a hint at the time that a run requested, or after a few minutes", async (context) => {
  let runs = 0;
  const { advance, end } = simulated(context, async () =>
    ++runs < 3 ? { seconds: 10 } : undefined,
  );
  await advance(9000);
  assert.equal(runs, 1);
  await advance(13_000);
  assert.equal(runs, 3);
  await advance(200_000);
  assert.equal(runs, 3);
  await advance(200_000);
  assert.ok(runs >= 4);
  await end();
});

test("runs again within minutes even if a run requests a pause of an hour, or a longer pause than a timer supports", async (context) => {
  for (const seconds of [3600, 30 * 24 * 3600]) {
    let runs = 0;
    const { advance, end } = simulated(context, async () => ({ seconds: ((runs += 1), seconds) }));
    await advance(200_000);
    assert.equal(runs, 1);
    await advance(200_000);
    assert.equal(runs, 2);
    await end();
    context.mock.timers.reset();
  }
});

test("counts silence from the end of a run, however long the run took", async (context) => {
  let now = 5_000_000;
  context.mock.method(performance, "now", () => now);
  const { loop, advance, end } = simulated(context, async () => void (now += 40_000));
  await advance(1000);
  assert.equal(loop.silence(), 0);
  now += 30_000;
  assert.equal(loop.silence(), 30);
  await end();
});

test("counts failures in a row, and begins again after a run that succeeded", async (context) => {
  const outcomes = [false, false, true, false, false];
  const { failures, loop, advance, end } = simulated(context, async () => {
    if (outcomes.shift() === false) throw new Error("no API");
    return undefined;
  });
  for (let hints = 0; outcomes.length > 0 && hints < 100; hints += 1) {
    loop.hint();
    await advance(1000);
  }
  assert.deepEqual(failures, [1, 2, 1, 2]);
  await end();
});

test("leaves no listener on the signal after each pause", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const stop = new AbortController();
  let runs = 0;
  const loop = createLoop({
    run: async () => ({ seconds: ((runs += 1), 1) }),
    failed: () => undefined,
  });
  const ended = loop.until(stop.signal);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    context.mock.timers.tick(1000);
    await breathe();
  }
  assert.ok(runs > 10);
  assert.ok(getEventListeners(stop.signal, "abort").length <= 1);
  stop.abort();
  await ended;
});

test("counts silence from the end of the last run, even of a failed run, whatever happens to the clock", async (context) => {
  let now = 5_000_000;
  context.mock.method(performance, "now", () => now);
  let fails = false;
  const { loop, advance, end } = simulated(context, async () => {
    if (fails) throw new Error("no API");
    return undefined;
  });
  assert.equal(loop.silence(), 0);
  await advance(1000);
  now += 30_000;
  assert.equal(loop.silence(), 30);
  context.mock.method(Date, "now", () => 0);
  assert.equal(loop.silence(), 30);
  fails = true;
  loop.hint();
  await advance(100);
  assert.equal(loop.silence(), 0);
  now += 700_000;
  assert.ok(loop.silence() > hangsSeconds);
  await end();
});

const conflict = () =>
  new ApiError({ status: 409, reason: "Conflict", method: "PATCH", path: "/a" });

test("runs again soon after each of several conflicts, and does not count them as failures", async (context) => {
  let runs = 0;
  const { failures, advance, end } = simulated(context, async () => {
    runs += 1;
    if (runs <= 5) throw conflict();
    return undefined;
  });
  // Each of the five pauses has at most 450 ms, and ends at the next tenth of a second.
  await advance(2500);
  assert.equal(runs, 6);
  assert.deepEqual(failures, [0, 0, 0, 0, 0]);
  await end();
});

test("after a conflict, waits as long as the server requests", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let runs = 0;
  const stop = new AbortController();
  const loop = createLoop({
    run: async () => {
      runs += 1;
      throw conflict();
    },
    failed: () => 60,
  });
  const ended = loop.until(stop.signal);
  await breathe();
  context.mock.timers.tick(59_000);
  await breathe();
  assert.equal(runs, 1);
  context.mock.timers.tick(1000);
  await breathe();
  assert.equal(runs, 2);
  stop.abort();
  await ended;
});

test("does not turn conflicts into a hot loop", async (context) => {
  let runs = 0;
  const { advance, end } = simulated(context, async () => {
    runs += 1;
    throw conflict();
  });
  await advance(10_000);
  assert.ok(runs <= 67, `${runs} runs in 10 s`);
  await end();
});

test("counts a webhook's denial with the status of a conflict as a failure", async (context) => {
  const denied = { status: 409, reason: "Conflict", method: "PATCH", path: "/a", denied: true };
  const { failures, advance, end } = simulated(context, async () => {
    throw new ApiError(denied);
  });
  await advance(10_000);
  assert.deepEqual(failures.slice(0, 2), [1, 2]);
  await end();
});

test("makes few runs during a minute of failures and constant hints", async (context) => {
  let runs = 0;
  const { loop, failures, advance, end } = simulated(context, async () => {
    runs += 1;
    throw new Error("no API");
  });
  for (let tenth = 0; tenth < 600; tenth++) {
    loop.hint();
    await advance(100);
  }
  assert.ok(runs <= 9, `${runs} runs`);
  assert.equal(failures.length, runs);
  await end();
});
