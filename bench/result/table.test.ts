import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, measure } from "./result.ts";
import { json, number, headingOf, table } from "./table.ts";

const run = { commit: "abc", date: new Date("2026-01-02T03:04:05Z"), quick: true, changed: false };

const results = [
  compare({ name: "down", unit: "s", against: "bare restart", atMost: 1.2 }, [
    [1, 1],
    [1.3, 1],
    [1.25, 1],
  ]),
  measure({ name: "noop", unit: "restarts", atMost: 0 }, [0]),
];

test("shows value, baseline, ratio with its range, goal and whether it is met", () => {
  const lines = [
    "| name | value | unit     | baseline         | ratio          | goal         | met?   | rounds |",
    "| ---- | ----- | -------- | ---------------- | -------------- | ------------ | ------ | ------ |",
    "| down | 1.25  | s        | 1 (bare restart) | 1.25 × [1–1.3] | ≤ 1.2 ×      | **no** | 3      |",
    "| noop | 0     | restarts |                  |                | ≤ 0 restarts | yes    | 1      |",
  ];
  assert.equal(table(results), `${lines.join("\n")}\n`);
});

test("writes numbers into the JSON, and null for absent values", () => {
  const { results: rows } = JSON.parse(json(run, results)) as {
    results: Record<string, unknown>[];
  };
  const { name, value, unit, baseline, ratio, goal } = rows[0] ?? {};
  assert.deepEqual(
    { name, value, unit, baseline, ratio, goal },
    { name: "down", value: 1.25, unit: "s", baseline: 1, ratio: 1.25, goal: "≤ 1.2 ×" },
  );
  assert.equal(rows[1]?.["baseline"], null);
  assert.equal(rows[1]?.["met"], true);
});

test("states in each row its build, its day, and its number of rounds", () => {
  for (const [changed, commit] of [
    [false, "abc"],
    [true, "abc with changes"],
  ] as const) {
    const { results: rows } = JSON.parse(json({ ...run, changed }, results)) as {
      results: Record<string, unknown>[];
    };
    assert.deepEqual(
      rows.map((row) => [row["commit"], row["date"], row["quick"], row["rounds"]]),
      [
        [commit, "2026-01-02", true, 3],
        [commit, "2026-01-02", true, 1],
      ],
    );
    assert.match(headingOf({ ...run, changed }), new RegExp(`2026-01-02, commit \`${commit}\`,`));
  }
});

test("shows numbers with three significant digits", () => {
  for (const [value, text] of [
    [0, "0"],
    [12, "12"],
    [1.23456, "1.23"],
    [0.00123456, "0.00123"],
    [123.4, "123"],
    [12345.6, "12346"],
  ] as const)
    assert.equal(number(value), text);
});
