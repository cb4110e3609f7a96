/** The laws of laws.test.ts, with thousands of schedules. */
import { test } from "node:test";
import { seeded } from "#test/random.ts";
import { playAll } from "#test/model/play.ts";

test("keeps every law, and decides like the model, over thousands of schedules", (t) => {
  playAll(seeded(t).below(1e6), 2000, { isLockstep: true, rewrite: {} });
});

test("keeps every law over thousands of schedules without the model", (t) => {
  playAll(seeded(t).below(1e6) + 1e6, 4000, { isLockstep: false, rewrite: {} });
});

test("breaks no law over thousands of schedules decided by the model", (t) => {
  playAll(seeded(t).below(1e6) + 2e6, 1000, null);
});
