import assert from "node:assert/strict";
import { test } from "node:test";
import { absenceClock } from "./clocks.ts";

/** Plays `[seconds, status]` after each other; what the clock says at the end. */
function after(...answers: (readonly [seconds: number, status: number])[]): number {
  let seconds = 1000;
  const clock = absenceClock(() => seconds);
  for (const [pause, status] of answers) {
    seconds += pause;
    if (status >= 0) clock.answered(status);
  }
  return clock.backSeconds();
}
const nothing = -1;

type Case = readonly [sentence: string, seconds: number, ...Parameters<typeof after>];
const table: readonly Case[] = [
  ["an API server that always answered was never away", Infinity, [0, 200]],
  ["4xx are answers", Infinity, [0, 200], [60, 404], [60, 429]],
  ["away for less than 30 s, no node was missed", Infinity, [0, 200], [1, 0], [29, 0], [9, 200]],
  ["away for 30 s, nodes may be", 0, [0, 200], [1, 0], [30, 0], [0, 200]],
  ["it counts from its return", 20, [0, 200], [1, 0], [30, 0], [0, 200], [5, 200], [15, nothing]],
  ["during an absence it is no time", 0, [0, 200], [1, 0], [40, 0]],
  ["a short one does not end the time after it", 9, [0, 0], [30, 0], [0, 200], [4, 0], [5, 200]],
  ["5xx neither begins nor ends one", 0, [0, 200], [1, 0], [15, 503], [15, 0], [0, 200]],
  ["a webhook that fails for an hour is none", Infinity, [0, 200], [1, 500], [3600, 500], [0, 200]],
  ["one request that hung, and none for long, is none", Infinity, [0, 200], [1, 0], [300, 200]],
  [
    "one that was there before us ended our predecessor",
    3,
    [0, 0],
    [20, 0],
    [0, 200],
    [3, nothing],
  ],
  ["a network that comes a moment after us is none", Infinity, [0, 0], [19, 0], [0, 200]],
];
for (const [sentence, seconds, ...answers] of table)
  test(`after an absence: ${sentence}`, () => assert.equal(after(...answers), seconds));
