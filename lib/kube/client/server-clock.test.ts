import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { ServerClock } from "./server-clock.ts";

const noon = Date.parse("2026-01-01T12:00:00Z");

/** Our clock, which is wrong by an hour, and a monotonic clock. */
function setUp(t: TestContext) {
  const at = { elapsed: 500 };
  t.mock.method(Date, "now", () => noon + 3_600_000);
  t.mock.method(performance, "now", () => at.elapsed);
  const clock = new ServerClock();
  return { at, clock, now: () => clock.now().toISOString().slice(11, 23) };
}

test("shows our own time until the server's first answer, and the server's time from then on", (t) => {
  const { at, clock, now } = setUp(t);
  assert.equal(now(), "13:00:00.000");
  clock.received(new Date(noon).toUTCString());
  assert.equal(now(), "12:00:00.000");
  at.elapsed += 90_250;
  assert.equal(now(), "12:01:30.250");
});

test("keeps its time after answers that were late by seconds, and after invalid headers", (t) => {
  const { at, clock, now } = setUp(t);
  clock.received(new Date(noon).toUTCString());
  at.elapsed += 4000;
  for (const header of [new Date(noon).toUTCString(), undefined, "", "yesterday"])
    clock.received(header);
  assert.equal(now(), "12:00:04.000");
});

test("follows a server whose clock is set forward or back", (t) => {
  const { clock, now } = setUp(t);
  clock.received(new Date(noon).toUTCString());
  clock.received(new Date(noon + 60_000).toUTCString());
  assert.equal(now(), "12:01:00.000");
  clock.received(new Date(noon - 60_000).toUTCString());
  assert.equal(now(), "11:59:00.000");
});

test("is never ahead of the server, and at most a second plus one answer's time behind it", () => {
  const answers = fc.array(fc.record({ pause: fc.nat(10_000), takes: fc.nat(2000) }), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(answers, fc.nat(999), (all, fraction) => {
      const at = { elapsed: 0 };
      const server = () => noon + fraction + at.elapsed;
      const clock = new ServerClock(
        () => 0,
        () => at.elapsed,
      );
      let least = Number.POSITIVE_INFINITY;
      for (const { pause, takes } of all) {
        at.elapsed += pause;
        const header = new Date(server()).toUTCString();
        at.elapsed += takes;
        clock.received(header);
        least = Math.min(least, takes);
        const behind = server() - clock.now().getTime();
        assert.ok(behind >= 0 && behind < 1000 + least, `${behind} ms behind, ${least} ms late`);
      }
    }),
  );
});
