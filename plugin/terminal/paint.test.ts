import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bar, paintFor, terminalOf } from "./paint.ts";

test("uses colours only on a terminal that supports them", () => {
  const painted = (...[terminal]: Parameters<typeof paintFor>) =>
    Object.values(paintFor(terminal)).map((ink) => ink("x"));
  const plain = Array<string>(5).fill("x");
  assert.deepEqual(painted(undefined), plain);
  assert.deepEqual(painted({ columns: 80, colour: false }), plain);
  assert.deepEqual(
    painted({ columns: 80, colour: true }),
    [32, 33, 31, 2, 1].map((code) => `\u001b[${code}mx\u001b[0m`),
  );
});

test("detects a terminal and its colours from the stream, TERM and NO_COLOR", () => {
  const tty = { isTTY: true, columns: 100 };
  assert.deepEqual(terminalOf(tty, { TERM: "xterm" }), { columns: 100, colour: true });
  assert.deepEqual(terminalOf(tty, { NO_COLOR: "1" }), { columns: 100, colour: false });
  assert.deepEqual(terminalOf({ isTTY: true, columns: 0 }, {}), { columns: 80, colour: true });
  assert.equal(terminalOf(tty, { TERM: "dumb" }), undefined);
  assert.equal(terminalOf({}, { TERM: "xterm" }), undefined);
});

const bars: readonly (readonly [counts: number[], whole: number, drawn: string])[] = [
  [[10, 0], 10, "[##########]"],
  [[5, 0], 10, "[#####.....]"],
  [[0, 0], 0, "[..........]"],
  [[999, 1], 1000, "[#########x]"],
  [[1, 0], 1000, "[#.........]"],
  [[12, 3], 10, "[#######xxx]"],
  [[20, 20], 10, "[xxxxxxxxxx]"],
];
for (const [[good, bad], whole, drawn] of bars)
  test(`draws ${good} and ${bad} of ${whole} as ${drawn}`, () => {
    const parts = [["#", good ?? 0] as const, ["x", bad ?? 0] as const];
    assert.equal(bar(parts, whole, 10), drawn);
  });

test("draws a bar with the given number of columns, and shows every part above 0", () => {
  const counts = fc.array(fc.nat(5000), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(counts, fc.nat(5000), fc.integer({ min: 10, max: 60 }), (all, rest, columns) => {
      const parts = all.map((count, at) => ["#u?x"[at] ?? "", count] as const);
      const whole = all.reduce((sum, count) => sum + count, rest);
      const drawn = bar(parts, whole, columns);
      assert.equal(drawn.length, columns + 2);
      for (const [letter, count] of parts) assert.equal(drawn.includes(letter), count > 0);
    }),
  );
});
