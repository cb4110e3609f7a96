import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "./connection.ts";
import { pauseAfter } from "./pause.ts";

const busy = (retryAfter: number) => new Refusal(429, retryAfter);

const rows: readonly (readonly [failures: number, error: unknown, least: number, most: number])[] =
  [
    [1, undefined, 100, 200],
    [2, new Error("x"), 200, 400],
    [3, busy(0), 400, 800],
    [6, undefined, 3200, 6400],
    [7, undefined, 5000, 10_000],
    [5000, undefined, 5000, 10_000],
    [1, busy(2), 2000, 4000],
    [7, busy(1), 5000, 10_000],
    [1, busy(-5), 100, 200],
    [1, busy(60), 60_000, 120_000],
    [1, busy(3600), 60_000, 120_000],
  ];

test("doubles the pause with each failure, obeys Retry-After, and spreads the nodes", () => {
  for (const [failures, error, least, most] of rows) {
    const pauses = Array.from({ length: 200 }, () => pauseAfter(failures, error));
    const row = `${failures} ${String(error)}`;
    assert.ok(Math.min(...pauses) >= least && Math.max(...pauses) <= most, row);
    assert.ok(Math.max(...pauses) - Math.min(...pauses) > (most - least) / 2, row);
  }
});
