import assert from "node:assert/strict";
import { test } from "node:test";
import { absenceClock } from "./clocks.ts";

/** Plays `[seconds, status]` after each other; what the clock says at the end. */
function after(...answers: (readonly [seconds: number, status: number])[]): number {
  let seconds = 1000;
  const clock = absenceClock(() => new Date(seconds * 1000));
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
  ["away for less than 30 s, no node was missed", Infinity, [0, 200], [1, 0], [29, 200]],
  ["away for 30 s, nodes may be", 0, [0, 200], [1, 0], [30, 200]],
  ["it counts from its return", 20, [0, 200], [1, 0], [30, 200], [5, 200], [15, nothing]],
  ["during an absence it is no time", 0, [0, 200], [1, 0], [40, 0]],
  [
    "a short one does not end the time after a long one",
    9,
    [0, 200],
    [1, 0],
    [30, 200],
    [4, 0],
    [5, 200],
  ],
  ["a 5xx is an absence", 0, [0, 200], [1, 503], [15, 500], [15, 200]],
  [
    "one that was there before us ended our predecessor 10 s ago",
    3,
    [0, 0],
    [20, 200],
    [3, nothing],
  ],
  ["a network that comes a moment after us is none", Infinity, [0, 0], [19, 200]],
];
for (const [sentence, seconds, ...answers] of table)
  test(`after an absence: ${sentence}`, () => assert.equal(after(...answers), seconds));
