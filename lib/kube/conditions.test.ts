import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, conditionsOf, timed, timeOf, truth } from "./conditions.ts";

const [then, now] = ["2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z"];
const before = [
  { type: "Ready", status: "True", reason: "Done", lastTransitionTime: then },
  { type: "Stalled", status: "False", reason: "Done", lastTransitionTime: then },
] as const;

test("changes a condition's time only if its status changes, not if only its reason changes", () => {
  const said = [
    { type: "Ready", status: "True", reason: "Other" },
    { type: "Stalled", status: "True", reason: "Halted" },
    { type: "Warning", status: "False", reason: "None" },
  ];
  assert.deepEqual(
    timed(said, before, now).map((condition) => [
      condition.type,
      condition.reason,
      condition.lastTransitionTime,
    ]),
    [
      ["Ready", "Other", then],
      ["Stalled", "Halted", now],
      ["Warning", "None", now],
    ],
  );
  assert.deepEqual(
    timed(said, undefined, now).map((condition) => condition.lastTransitionTime),
    [now, now, now],
  );
});

test("adds the generation, the times and the command for the message's code", () => {
  const rows = [
    { type: "Ready", status: truth(true), reason: "Done", message: "all is well" },
    {
      type: "Stalled",
      status: truth(true),
      reason: "Halted",
      message: `GPS218 ${"x".repeat(300)}`,
    },
  ];
  const [ready, stalled, ...others] = conditionsOf(rows, 7, before, now);
  const times = { observedGeneration: 7, lastTransitionTime: then };
  assert.deepEqual(ready, { ...rows[0], ...times });
  assert.equal(stalled?.message.length, 200);
  assert.match(stalled.message, /^GPS218 x+…x+ \[kubectl pull-secret help GPS218\]$/);
  assert.equal(stalled.observedGeneration, 7);
  assert.equal(stalled.lastTransitionTime, now);
  assert.deepEqual(others, []);
  assert.equal(truth(false), "False");
});

test("finds a condition by its type, and does not compile for a type that the kind lacks", () => {
  const status = { conditions: before };
  assert.equal(conditionOf(status, "Stalled"), before[1]);
  assert.equal(conditionOf(undefined, "Stalled"), undefined);
  assert.equal(conditionOf({}, "Ready"), undefined);
  // @ts-expect-error: no such condition.
  assert.equal(conditionOf(status, "Redy"), undefined);
});

test("writes a time in whole seconds", () => {
  assert.equal(timeOf(new Date("2026-11-24T10:00:00.987Z")), then);
});
