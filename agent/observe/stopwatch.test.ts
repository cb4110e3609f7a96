import assert from "node:assert/strict";
import test from "node:test";
import { History, Stopwatch } from "./stopwatch.ts";

test("measures how long a value stays the same", () => {
  let now = 100;
  const stopwatch = new Stopwatch(() => now);
  const seen = [
    ["a", 0],
    ["a", 50],
    ["b", 50],
    ["b", 10],
    [undefined, 10],
    ["b", 10],
  ] as const;
  const held = seen.map(([value, passed]) => ((now += passed), stopwatch.unchangedFor(value)));
  assert.deepEqual(held, [0, 50, 0, 10, 0, 0]);
});

test("spaces writes that follow each other: at once, 1 s, 2 s … a minute, and starts over after five quiet minutes or for new content", () => {
  let now = 0;
  const history = new History(() => now);
  const waits: number[] = [];
  for (let writes = 0; writes < 10; writes += 1) {
    waits.push(history.writeIn());
    now += history.writeIn();
    history.wrote();
  }
  assert.deepEqual(waits, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  now += 300_000;
  history.wrote();
  assert.equal(history.writeIn(), 60_000);
  now += 300_001;
  assert.equal(history.writeIn(), 0);
  history.wrote();
  assert.equal(history.writeIn(), 1000);
  history.wrote();
  history.startOver();
  assert.equal(history.writeIn(), 0);
});

test("tries a failed write again after 2 s, 4 s … 30 s, and starts over after a success", () => {
  let now = 0;
  const history = new History(() => now);
  const pauses: number[] = [];
  for (let writes = 0; writes < 7; writes += 1) {
    const failed = now;
    if (writes === 6) history.succeeded();
    history.failed("EROFS");
    while (history.blocked() !== undefined) now += 500;
    pauses.push(now - failed);
  }
  assert.deepEqual(pauses, [2000, 4000, 8000, 16_000, 30_000, 30_000, 2000]);
});
