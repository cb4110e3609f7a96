/**
 * The probation of a restarted kubelet: what proves that it lives with the new file, and what shows
 * that it does not. Pure. The table in phases.ts says which rule applies.
 */
import type { Facts } from "../facts/facts.ts";
import { confirmed, type Journal } from "../journal/journal.ts";
import { codes } from "../facts/problems.ts";
import { fast, record, type Step, wait } from "../facts/step.ts";
import type { Unit } from "../systemd/unit.ts";
import { revived } from "./quarantine.ts";
import { answerWithin, attempt, attempts, rollBack } from "./restart.ts";

/** Milliseconds for which a process must have answered healthz, however short the probation. */
const answersFor = 1000;
/** After a rollback, a process that runs this long is taken for alive even without healthz. */
const livesFor = 180_000;
/**
 * How many processes one probation may lose: one to a reboot, one to an administrator. Beyond that
 * the kubelet is failing.
 */
const mostReplaced = 2;

/** The new process answers, and is on probation from now on. */
export function watch(_facts: Facts, journal: Journal, unit: Unit): Step {
  const settling = { invocation: unit.invocation, restarts: unit.restarts };
  const tried = journal.called ? journal.tried : journal.tried + 1;
  return record(codes.onProbation, { ...journal, phase: "settling", settling, tried });
}

/**
 * Watches the process until the probation is over. The kubelet reports our readiness, and a dead
 * kubelet cannot retract it, so the agent turns Ready only then.
 */
export function awaitProbation(facts: Facts, journal: Journal): Step {
  if (!hasLived(facts, facts.config.probation)) return wait(codes.onProbation, fast);
  return record(codes.inForce, confirmed(journal));
}

/** The watched process no longer answers. */
export function awaitAnswerAgain(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.stopwatch.running < answerWithin)
    return wait(codes.restarting, fast, "healthz stopped answering");
  return died(facts, journal, unit);
}

/**
 * Another process runs than the watched one. If systemd counts no restart of its own, the node
 * rebooted or an administrator restarted it. The new process has read the same file.
 */
export function replaced(facts: Facts, journal: Journal, unit: Unit): Step {
  const { invocation, replaced: before = 0 } = journal.settling ?? {};
  if (unit.invocation === invocation || unit.restarts > 0 || before >= mostReplaced)
    return died(facts, journal, unit);
  const settling = { invocation: unit.invocation, restarts: 0, replaced: before + 1 };
  return record(codes.onProbation, { ...journal, settling });
}

/** The attempt failed. What systemd starts next may still prove itself. */
export function died(facts: Facts, journal: Journal, unit: Unit): Step {
  const { settling: watched, ...rest } = journal;
  const next: Journal = {
    ...rest,
    phase: "restarting",
    owed: watched?.invocation ?? "",
    called: false,
  };
  if (facts.unwritable) return attempt(facts, next, unit);
  if (journal.tried >= attempts(journal)) return rollBack(next);
  return record(
    codes.kubeletFailed,
    next,
    `${unit.active}/${unit.sub}, ${unit.result}, within the probation`,
  );
}

/** The revived kubelet answers, and goes through the same probation. */
export function awaitRevivedProbation(facts: Facts, journal: Journal): Step {
  if (!hasLived(facts, facts.config.probation))
    return wait(codes.onProbation, fast, "with the previous config.json");
  return revived(facts, journal);
}

/** The revived kubelet does not answer: its healthz may be off, or on another port. */
export function awaitLife(facts: Facts, journal: Journal): Step {
  if (facts.stopwatch.running < livesFor)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return revived(facts, journal);
}

/** Whether the process has run this long, and has answered for a second of it. */
function hasLived({ stopwatch }: Facts, milliseconds: number): boolean {
  return (
    stopwatch.running >= milliseconds && stopwatch.healthy >= Math.min(milliseconds, answersFor)
  );
}
