/** No restart is asked for: how long until the kubelet must have reread the file. Pure. */
import { rereadSeconds } from "#contract/times.ts";
import type { Facts } from "../facts/facts.ts";
import { confirmed, type Journal } from "../journal/journal.ts";
import { type Answer, ask, record, type Step, wait } from "../facts/step.ts";
import { unitOf } from "../facts/kubelet-state.ts";
import { codes } from "../facts/problems.ts";

const rereadAfter = rereadSeconds * 1000;
const longestWait = 10_000;

/**
 * Whether the change was made in another mode, where no kubelet is restarted: none can be down
 * because of it.
 */
export function isAwaited({ phase, owed, renamed }: Journal): boolean {
  return phase === "restarting" && owed === undefined && renamed !== undefined;
}

/** Restart policy Never: notes once when the file was in place, and waits. */
export function awaitReread(facts: Facts, journal: Journal): Step {
  const { renamed } = journal;
  if (renamed === undefined)
    return record(codes.toBeReread, { ...journal, phase: "restarting", renamed: facts.time });
  const { rereads: _rereads, ...read } = confirmed(journal);
  return rereading(renamed, facts) ?? record(codes.inForce, read);
}

/**
 * The same for a drift that was repaired without a restart; undefined if there was none. A process
 * that somebody started since has read the file.
 */
export function awaitRepaired(facts: Facts, journal: Journal): Answer | undefined {
  if (journal.rereads === undefined) return undefined;
  if (facts.unit === undefined) return ask("kubelet");
  const { rereads, renamed, ...read } = journal;
  const runs = unitOf(facts)?.invocation ?? "";
  if (renamed === undefined)
    return record(codes.toBeReread, { ...journal, rereads: runs, renamed: facts.time });
  const isAnother = rereads !== "" && runs !== "" && runs !== rereads;
  const waits = isAnother ? undefined : rereading(renamed, facts);
  return waits ?? record(codes.inForce, read);
}

/**
 * The same after an old copy of ours was taken out. No journal is left to record it: an agent that
 * starts meanwhile does not wait.
 */
export function awaitCleaned({ sinceCleaned }: Facts): Step | undefined {
  return waiting(rereadAfter - sinceCleaned);
}

/** The wait; undefined when it is over. */
function rereading(renamed: NonNullable<Journal["renamed"]>, { time }: Facts): Step | undefined {
  // The node rebooted since: every process has read the new file.
  if (renamed.boot !== time.boot) return undefined;
  return waiting(renamed.monotonic + rereadAfter - time.monotonic);
}

function waiting(remaining: number): Step | undefined {
  if (remaining <= 0) return undefined;
  const left = `${Math.ceil(remaining / 1000)} s more`;
  return wait(codes.toBeReread, Math.min(remaining, longestWait), left);
}
