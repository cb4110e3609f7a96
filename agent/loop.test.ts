import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import { Loop, type Round } from "./loop.ts";
import { record, type Step, wait } from "./facts/step.ts";

/** Milliseconds, more than any test takes. Only a hint or the end wakes the loop. */
const long = 3_600_000;

function round(next: () => Promise<Step> | Step, change: Partial<Round> = {}): Round {
  return {
    next: async () => await next(),
    report: () => {},
    act: () => Promise.resolve(),
    failed: () => wait("GPS228", long),
    idle: () => {},
    ...change,
  };
}

test("runs one more round for any number of hints during a round", async () => {
  const stop = new AbortController();
  const loop = new Loop(stop.signal, () => performance.now());
  let observations = 0;
  const running = loop.run(
    round(() => {
      observations += 1;
      if (observations === 1) for (let hints = 0; hints < 10_000; hints += 1) loop.hint();
      if (observations === 2) setImmediate(() => stop.abort());
      return wait("GPS202", long);
    }),
  );
  await running;
  assert.equal(observations, 2);
});

test("begins the next round only after the action of the last round has ended", async () => {
  const stop = new AbortController();
  const loop = new Loop(stop.signal, () => performance.now());
  const seen: string[] = [];
  await loop.run(
    round(
      () => {
        seen.push("look");
        if (seen.length > 4) stop.abort();
        return wait(seen.length > 2 ? "GPS202" : "GPS203", 0);
      },
      {
        act: async () => {
          loop.hint();
          await new Promise(setImmediate);
          seen.push("acted");
        },
      },
    ),
  );
  assert.deepEqual(seen.slice(0, 6), ["look", "acted", "look", "acted", "look", "acted"]);
});

test("releases shared resources only before a wait", async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  const steps = [wait("GPS202", 0), wait("GPS203", 0), wait("GPS202", long)];
  await new Loop(stop.signal, () => performance.now()).run(
    round(() => (seen.push("look"), steps.shift() ?? wait("GPS228", 0)), {
      idle: () => {
        seen.push("idle");
        stop.abort();
      },
    }),
  );
  assert.deepEqual(seen, ["look", "look", "look", "idle"]);
});

test("pauses if the same step is due again at once", async () => {
  const stop = new AbortController();
  let looks = 0;
  await new Loop(stop.signal, () => performance.now()).run(
    round(() => ((looks += 1), wait("GPS202", 0)), { idle: () => stop.abort() }),
  );
  assert.equal(looks, 2);
});

for (const [again, times, from] of [
  ["back off", [0, 1000, 3000, 7000, 15_000], "from the first time"],
  [0, [0, 0, 1000, 3000, 7000], "from the second time"],
] as const)
  test(`pauses ever longer before a step that should ${again === 0 ? "come at once" : again}, ${from}`, async (t) => {
    const stop = new AbortController();
    const rounds: number[] = [];
    let now = 0;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const loop = new Loop(stop.signal, () => now);
    const ended = loop.run(round(() => (rounds.push(now), wait("GPS202", again))));
    for (let turns = 0; turns < 5; turns += 1) await soon();
    while (rounds.length < 5) {
      now += 500;
      t.mock.timers.tick(500);
      await soon();
    }
    stop.abort();
    t.mock.timers.tick(60_000);
    await ended;
    assert.deepEqual(rounds, times);
  });

test("follows a hint at once although a pause has just ended by itself", async (t) => {
  const stop = new AbortController();
  let [now, rounds] = [0, 0];
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const loop = new Loop(stop.signal, () => now);
  const ended = loop.run(round(() => wait("GPS202", (rounds += 1) === 1 ? 50 : long)));
  await soon();
  now += 50;
  t.mock.timers.tick(50);
  await soon();
  assert.equal(rounds, 2);
  loop.hint();
  await soon();
  assert.equal(rounds, 3);
  stop.abort();
  await ended;
});

test("reports no failure that its own end has caused", async () => {
  const stop = new AbortController();
  const reported: string[] = [];
  await new Loop(stop.signal, () => performance.now()).run(
    round(() => wait("GPS202", long), {
      report: ({ code }) => void reported.push(code),
      act: () => {
        stop.abort();
        return Promise.reject(new Error("aborted"));
      },
    }),
  );
  assert.deepEqual(reported, ["GPS202"]);
});

test("handles a signal although no step waits", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1);
  let looks = 0;
  await new Loop(stop.signal, () => performance.now()).run(
    round(() => wait((looks += 1) % 2 === 0 ? "GPS202" : "GPS203", looks < 100_000 ? 0 : long)),
  );
  assert.ok(looks < 100_000, "the signal came too late");
});

test("continues after a failed action", async () => {
  const stop = new AbortController();
  const loop = new Loop(stop.signal, () => performance.now());
  const order: string[] = [];
  let acts = 0;
  await loop.run(
    round(() => record("GPS218", {} as never, undefined), {
      report: (step) => void order.push(`report ${step.code}`),
      act: () => {
        if ((acts += 1) === 1) return Promise.reject(new Error("disk full"));
        order.push("act");
        stop.abort();
        return Promise.resolve();
      },
      failed: () => wait("GPS208", 0),
    }),
  );
  assert.deepEqual(order, ["report GPS218", "report GPS208", "report GPS218", "act"]);
});

test("follows a hint at once, and later hints at most ten times a second", async (t) => {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const loop = new Loop(stop.signal, () => performance.now());
  const begun = performance.now();
  let observations = 0;
  const running = loop.run(
    round(() => {
      observations += 1;
      if (observations === 8) stop.abort();
      return wait("GPS202", long);
    }),
  );
  await soon();
  loop.hint();
  await soon();
  // The pause `long` is not over, so only the hint can have caused the second round.
  assert.equal(observations, 2);
  const hints = setInterval(() => loop.hint(), 3);
  await running;
  clearInterval(hints);
  const took = performance.now() - begun;
  assert.ok(took >= 590, `eight rounds in ${took} ms`);
});

test("never waits longer because of hints", async () => {
  const stop = new AbortController();
  const loop = new Loop(stop.signal, () => performance.now());
  const hints = setInterval(() => loop.hint(), 1);
  // Counts waits of 10 ms, because these also take longer on a busy machine.
  let waits = 0;
  const others = setInterval(() => (waits += 1), 10);
  let observations = 0;
  await loop.run(round(() => ((observations += 1) === 20 && stop.abort(), wait("GPS202", 10))));
  for (const timer of [hints, others]) clearInterval(timer);
  // With the spacing of hints, each round would take ten such waits.
  assert.ok(waits <= 100, `20 rounds in ${waits} waits`);
});
