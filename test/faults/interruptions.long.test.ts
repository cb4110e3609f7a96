/**
 * Interrupts every change of a node in every way at every point. The next agent completes the
 * change, and requests exactly the restarts that are still owed.
 */
import test from "node:test";
import { changes } from "./interruptions/changes.ts";
import { type Interruption, interruptions, runAll } from "./interruptions/interruptions.ts";

for (const change of changes)
  for (const { when, casesOf, of } of Object.values<Interruption>(interruptions))
    if (of?.(change) ?? true)
      test(`completes ${change.name} if ${when}, at every point`, async (t) =>
        runAll(t, await casesOf(change)));
