/** The laws of laws.test.ts, with thousands of schedules. */
import { test } from "node:test";
import { seeded } from "#test/random.ts";
import { playAll } from "#test/model/play.ts";

test("keeps every law over thousands of schedules", (t) => {
  playAll(seeded(t).below(1e6), 6000, { rewrite: {} });
});
