/**
 * Some rows of the table of interruptions, at a few points each: the one between write and restart
 * if the interruption can fall there, the last one, and others that a fixed seed picks. All points
 * are in interruptions.long.test.ts.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Random } from "../random.ts";
import { changes } from "./interruptions/changes.ts";
import { type Case, interruptions, runAll } from "./interruptions/interruptions.ts";

const seed = 1;

/** config.json is the new file, or the old one again, and the restart is not requested yet. */
const isWritten = ({ name }: Case) => name.endsWith("after rename config.json.staged config.json");

/** Change → interruption → number of points. */
const chosen: Readonly<Record<string, Partial<Record<keyof typeof interruptions, number>>>> = {
  "a first apply": { killed: 3, ended: 2, rebooted: 3, misdated: 1, cutOff: 2 },
  "a rotation": { killed: 2, rebooted: 2 },
  "a drift repair": { killed: 1 },
  "a withdrawal": { killed: 2, rebooted: 1 },
  "a rollback": { killed: 2, rebooted: 1 },
  "a rotation by a provider": { killed: 2 },
  "a change back from a provider": { killed: 1, rebooted: 2 },
};

// Two at a time, as agents wait most of the time.
describe("an interrupted change", { concurrency: 2 }, () => {
  for (const change of changes)
    for (const [name, count] of Object.entries(chosen[change.name] ?? {})) {
      const { when, casesOf } = interruptions[name as keyof typeof interruptions];
      test(`completes ${change.name} if ${when}, at fixed points`, async (t) => {
        const cases = (await casesOf(change)).filter(({ sure }) => sure);
        const random = new Random(seed);
        const drawn = Array.from({ length: count }, () => random.pick(cases));
        const written = cases.findLast(isWritten);
        if (name === "killed" && change.name === "a first apply")
          assert.ok(written, "no point between write and restart");
        const distinct = new Set([written ?? drawn[0], cases.at(-1), ...drawn]);
        await runAll(t, [...distinct].filter((one) => one !== undefined).slice(0, count));
      });
    }
});
