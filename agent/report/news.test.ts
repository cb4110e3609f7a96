/**
 * Which steps are worth a line in the log: nothing that lasts is kept quiet, and nothing that flaps
 * fills a disk.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { News } from "./news.ts";
import type { Code } from "../facts/problems.ts";
import type { Step } from "../facts/step.ts";

type One = Readonly<{ action?: Step["action"]; code: Code; ready?: boolean; detail?: string }>;

/** Steps with their times in seconds → the lines, in short. */
function told(steps: readonly (readonly [second: number, one: One])[]): string[] {
  let now = 0;
  const news = new News(() => now);
  return steps.flatMap(([second, { action = "wait", code, ready = false, detail = "" }]) => {
    now = second * 1000;
    return news.take({ action, code, ready }, `${code} ${detail}`)
      ? [`${second} ${code}${detail}`]
      : [];
  });
}

const fine: One = { action: "nothing", code: "GPS200", ready: true };
const down: One = { code: "GPS221" };

test("each outage is told, and each end of one, however many there were", () => {
  const month = 30 * 24 * 3600;
  const outages = [0, 1, 2].flatMap((n) => [
    [n * month, fine] as const,
    [n * month + 1000, down] as const,
    [n * month + 1030, fine] as const,
  ]);
  const lines = told(outages);
  assert.deepEqual(
    lines.map((line) => line.split(" ")[1]).join(" "),
    "GPS200 GPS221 GPS200 GPS221 GPS200 GPS221 GPS200",
  );
});

test("after thousands of different lines a restart, a rollback and the giving up are told", () => {
  const growing = Array.from(
    { length: 10_000 },
    (_, n) => [n, { code: "GPS206", detail: ` ${n}` }] as const,
  );
  const after = (
    [
      ["nothing", "GPS200"],
      ["restart", "GPS212"],
      ["record", "GPS216"],
      ["give up", "GPS218"],
    ] as const
  ).map(([action, code], n) => [10_000 + n, { action, code }] as const);
  const lines = told([...growing, ...after]);
  assert.deepEqual(
    lines.slice(-4).map((line) => line.slice(6)),
    ["GPS200", "GPS212", "GPS216", "GPS218"],
  );
  assert.ok(lines.length <= 10_000 / 60 + 6, `${lines.length} lines`);
});

test("an operation that fails every 30 s for six hours is told every ten minutes", () => {
  const tries = Array.from({ length: 720 }, (_, n) => [
    [n * 30, { action: "apply", code: "GPS226" }] as const,
    [n * 30, { code: "GPS208", detail: " ENOSPC" }] as const,
  ]).flat();
  assert.ok(told(tries).length <= 2 * 37, String(told(tries).length));
});

test("a pair that flaps every second for a day is told once a minute at most, and its last state for good", () => {
  const day = 24 * 3600;
  const flapping = Array.from({ length: day }, (_, n) => [n, n % 2 === 0 ? fine : down] as const);
  const lines = told([...flapping, [day, down], [day + 61, down]]);
  assert.ok(lines.length <= 24 * 60 + 40, `${lines.length} lines`);
  assert.match(lines.at(-1) ?? "", /GPS221$/);
});

test("whatever the sequence: what has stood for a minute is the last told, and in no hour are there more than 100 lines", () => {
  const step = fc.record({
    wait: fc.constantFrom(0, 1, 20, 250, 1000, 10_000, 30_000, 59_999, 60_000, 600_000, 5_000_000),
    action: fc.constantFrom<Step["action"][]>(
      "wait",
      "nothing",
      "record",
      "restart",
      "apply",
      "give up",
    ),
    code: fc.constantFrom<Code[]>("GPS200", "GPS208", "GPS213", "GPS221", "GPS226"),
    ready: fc.boolean(),
    detail: fc.nat(3),
  });
  const repeated = fc.tuple(
    fc.array(step, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(1, 3, 40, 150),
  );
  const sequences = fc
    .array(repeated, { maxLength: 12 })
    .map((parts) =>
      parts.flatMap(([steps, times]) => Array.from({ length: times }, () => steps).flat()),
    );
  fc.assert(
    fc.property(sequences, (steps) => {
      let now = 0;
      const news = new News(() => now);
      const lines: number[] = [];
      let last = "";
      let present = { state: "", since: 0 };
      for (const { wait, action, code, ready, detail } of steps) {
        now += wait;
        const state = `${code} ${ready}`;
        if (present.state !== state) present = { state, since: now };
        if (news.take({ action, code, ready }, `${code} ${detail}`)) {
          lines.push(now);
          last = state;
        }
        if (now - present.since >= 60_000) assert.equal(last, state);
        assert.ok((lines.at(-101) ?? -Infinity) <= now - 3_600_000);
      }
    }),
    { numRuns: 500 },
  );
});
