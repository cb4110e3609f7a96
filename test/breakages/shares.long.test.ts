/** The shares of random breakages that the unit tests find. `SEED=n` draws the same again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { measure } from "./measure.ts";

const minute = 60_000;
/** So many breakages of a folder must be judged, so that a share has a meaning. */
const fewest = 60;
const shares = { agent: 90, controller: 90, lib: 90, fleet: 80, plugin: 80, tenants: 80 };

for (const [folder, share] of Object.entries(shares))
  test(`finds ${share} % of the random breakages in ${folder}`, async (t) => {
    const seed = Number(process.env["SEED"] ?? 1);
    const milliseconds = 15 * minute;
    const { found, judged } = await measure(t, { folder, seed, count: 100, milliseconds });
    const result = `SEED=${seed}: ${found} of ${judged} breakages in ${folder} were found`;
    t.diagnostic(result);
    assert.ok(judged >= fewest && found >= (judged * share) / 100, result);
  });
