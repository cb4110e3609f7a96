import assert from "node:assert/strict";
import { test } from "node:test";
import { missingPodsClock } from "./memory.ts";

type Counts = readonly (readonly [second: number, podless: number])[];

/** Second → nodes without an agent's pod, and the number that is reported in the end. */
const rows: readonly (readonly [when: string, counts: Counts, reported: number | undefined])[] = [
  [
    "two nodes have lacked a pod for 59 s",
    [
      [0, 2],
      [59, 2],
    ],
    undefined,
  ],
  [
    "two nodes have lacked a pod for a minute",
    [
      [0, 2],
      [60, 2],
    ],
    2,
  ],
  [
    "the number rose meanwhile",
    [
      [0, 1],
      [30, 2],
      [60, 2],
    ],
    2,
  ],
  [
    "a large cluster gets its pods slowly",
    [
      [0, 5000],
      [50, 4000],
      [100, 3000],
      [150, 2000],
      [209, 2000],
    ],
    undefined,
  ],
  [
    "the number has stopped falling",
    [
      [0, 5000],
      [50, 4000],
      [110, 4000],
    ],
    4000,
  ],
  [
    "every node had a pod in between",
    [
      [0, 2],
      [30, 0],
      [40, 2],
      [99, 2],
    ],
    undefined,
  ],
];
for (const [when, counts, reported] of rows)
  test(`reports ${reported ?? "no"} nodes without a pod when ${when}`, () => {
    let time = 0;
    const ask = missingPodsClock(() => new Date(time * 1000));
    const answers = counts.map(([second, podless]) => {
      time = 1000 + second;
      return ask(podless);
    });
    assert.equal(answers.at(-1), reported);
  });
