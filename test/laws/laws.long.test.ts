/** The laws of laws.test.ts, for thousands of random runs of up to 60 nodes. */
import { test } from "node:test";
import { seeded } from "#test/random.ts";
import { playAll } from "./run.ts";

test("keeps every law over 10,000 random runs", (t) => {
  playAll(seeded(t).below(1e6), 10_000, 60);
});
