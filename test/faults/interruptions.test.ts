/**
 * Interrupts some changes (rows of the table in interruptions/changes.ts) at a few points: the
 * point between write and restart, the last point, and points that are drawn with SEED.
 * interruptions.long.test.ts covers all changes and points.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Random, seeded } from "../random.ts";
import { changes } from "./interruptions/changes.ts";
import { type Case, interruptions, runAll } from "./interruptions/interruptions.ts";

type Choice = (cases: readonly Case[], random: Random) => Case | undefined;

/**
 * Selects the last point at which config.json was replaced (by the new file or, in a rollback, by
 * the old file) and no restart has been requested since.
 */
const written: Choice = (cases) =>
  cases.findLast(({ name }) => name.endsWith("after rename config.json.staged config.json"));
const last: Choice = (cases) => cases.at(-1);
const drawn: Choice = (cases, random) => random.pick(cases);

/** Change → interruption → the points at which this change is interrupted. */
const chosen: Readonly<
  Record<string, Partial<Record<keyof typeof interruptions, readonly Choice[]>>>
> = {
  "a first apply": {
    killed: [written, last, drawn],
    ended: [drawn, last],
    rebooted: [written, last, drawn],
    cutOff: [drawn, last],
  },
  "a rotation": { killed: [written, last], rebooted: [written, last] },
  "a drift repair": { killed: [written] },
  "a withdrawal": { killed: [written, last], rebooted: [written] },
  "a rollback": { killed: [written, last], rebooted: [written] },
  "a rotation by a provider": { killed: [drawn, last] },
  "a change back from a provider": { killed: [drawn], rebooted: [drawn, last] },
};

// Runs two tests at a time, because agents wait most of the time.
describe("an interrupted change", { concurrency: 2 }, () => {
  for (const [change, interrupted] of Object.entries(chosen))
    for (const [name, choices] of Object.entries(interrupted)) {
      const { when, casesOf } = interruptions[name as keyof typeof interruptions];
      test(`completes ${change} if ${when}, at fixed points`, async (t) => {
        const row = changes.find((candidate) => candidate.name === change) ?? assert.fail(change);
        const sure = (await casesOf(row)).filter((point) => point.sure);
        const random = seeded(t);
        const points = choices.map(
          (choose) => choose(sure, random) ?? assert.fail("no such point"),
        );
        await runAll(t, [...new Set(points)], 0);
      });
    }
});
