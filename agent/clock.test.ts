/**
 * Tables of decisions for a wall clock that jumps by a year, in either direction, between two
 * rounds.
 */
import test from "node:test";
import {
  absent,
  idle,
  check,
  crashed,
  hour,
  now,
  renewed,
  restarting,
  reviving,
  rolledBackUnasked,
  settling,
  unasked,
} from "./facts/facts.fixture.ts";

const year = 8760 * hour;

function jumpTo(jumped: number): void {
  const down = { unit: crashed, healthy: false, now: jumped };
  const called = { ...restarting, called: true, calls: [now - 1000] };
  check([
    [
      "at rest",
      { journal: { ...idle, calls: [now - 1000] }, now: jumped },
      "nothing GPS200 Proved",
    ],
    [
      "made, but not recorded yet",
      { journal: { ...called, tried: 1 }, unit: renewed, now: jumped },
      "record GPS215 → settling",
    ],
    ["being watched", { journal: settling, unit: renewed, now: jumped }, "wait GPS215"],
    [
      "a failed attempt",
      { journal: { ...called, tried: 1 }, ...down },
      "restart GPS214 → restarting",
    ],
    ["the third one", { journal: { ...called, tried: 3 }, ...down }, "record GPS216 → restoring"],
    [
      "reviving",
      { journal: { ...reviving, tried: 2, calls: [now - 1000] }, ...down },
      "restart GPS217 → reviving",
    ],
  ]);
}

test("decides as usual after the clock jumped forward, at rest and during a restart", () => {
  jumpTo(now + year);
});

test("decides as usual after the clock jumped back, at rest and during a restart", () => {
  jumpTo(now - year);
});

test("ends a quarantine early when the clock jumps forward, but not when it jumps back", () => {
  const at = { ...unasked, journal: rolledBackUnasked, file: absent };
  check([
    ["back", { ...at, now: now - year }, "wait GPS219"],
    ["forward", { ...at, now: now + year }, "apply GPS226 → applying"],
  ]);
});
