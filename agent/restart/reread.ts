/** Restart policy Never: how long until the kubelet must have reread the file. Pure. */
import { rereadSeconds } from "#contract/names.ts";
import type { Facts } from "../facts/facts.ts";
import { confirmed, type Journal } from "../journal/journal.ts";
import { record, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

const rereadAfter = rereadSeconds * 1000;
const longestWait = 10_000;

/** The file is in place, and no restart is asked for: notes the time once, and waits it out. */
export function awaitReread(facts: Facts, journal: Journal): Step {
  const { renamed } = journal;
  if (renamed === undefined)
    return record(codes.toBeReread, { ...journal, phase: "restarting", renamed: facts.time });
  // The node rebooted since: every process has read the new file.
  if (renamed.boot !== facts.time.boot) return record(codes.inForce, confirmed(journal));
  const remaining = renamed.monotonic + rereadAfter - facts.time.monotonic;
  if (remaining <= 0) return record(codes.inForce, confirmed(journal));
  return wait(
    codes.toBeReread,
    Math.min(remaining, longestWait),
    `${Math.ceil(remaining / 1000)} s more`,
  );
}
