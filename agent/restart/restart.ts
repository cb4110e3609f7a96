/**
 * Restart until proved: what to do while a kubelet restart is owed, under way, or on probation.
 * Pure. The table in phases.ts says which rule applies.
 *
 * Whether a restart was made is read off the unit: the journal holds the InvocationID that was
 * current when the file was in place, and systemd gives every start a new one. Unlike a comparison
 * of times this survives clocks that jump.
 */
import { guardSeconds } from "#contract/names.ts";
import type { Facts } from "../facts/facts.ts";
import { confirmed, type Journal } from "../journal/journal.ts";
import { revived } from "./quarantine.ts";
import { isOurs, ours } from "../facts/revision.ts";
import { fast, record, soon, type Step, wait } from "../facts/step.ts";
import type { Unit } from "../systemd/unit.ts";
import { codes } from "../facts/problems.ts";

/** A started kubelet answers healthz within a second; 30 s leaves a starved node its time. */
const answerWithin = 30_000;
const answersFor = 1000;
/** The kubelet probes once a second, so readiness may be seen up to 1 s late. */
const untilProbed = 1000;
/** What systemd uses when a unit sets no limit: five starts in 10 s. */
const defaultStartLimit = 10_000;
const longestSpacing = 60_000;
const longestRevival = 900_000;
/** After a rollback, a process that runs this long is taken for alive even without healthz. */
const livesFor = 180_000;
/**
 * Processes that one probation may lose: one to a reboot, one to an administrator. More mean that
 * the kubelet fails.
 */
const mostReplaced = 2;

/**
 * Nobody can tell about the unit, or there is none: nothing is changed, and nothing counts as a
 * failure of the kubelet.
 */
export function awaitUnit(facts: Facts): Step {
  return unitMissing(facts) ?? wait(codes.systemdUnknown, fast);
}

/** Why there is nothing that could be restarted, if so. */
export function unitMissing({ unit }: Facts): Step | undefined {
  if (unit === undefined) return wait(codes.systemdUnknown, fast);
  if ("busless" in unit) return wait(codes.systemdUnknown, fast);
  if ("unknown" in unit)
    return wait(
      unit.outdated ? codes.systemdTooOld : codes.systemdUnknown,
      "back off",
      unit.unknown,
    );
  if ("unfound" in unit) return wait(codes.unitUnfound, soon, unit.unfound);
  if (unit.load !== "loaded") return wait(codes.noUnit, "back off", `${unit.name}: ${unit.load}`);
  return undefined;
}

export function underWay(_facts: Facts, _journal: Journal, unit: Unit): Step {
  return wait(codes.restarting, fast, `${unit.active}/${unit.sub}`);
}

/**
 * The new process runs and has not answered yet: it is given its time, and then the attempt has
 * failed.
 */
export function awaitAnswer(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.steady.running < answerWithin)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return attempt(facts, journal, unit);
}

/** The new process answers: from now on it is that one that is watched. */
export function watch(_facts: Facts, journal: Journal, unit: Unit): Step {
  const settling = { invocation: unit.invocation, restarts: unit.restarts };
  const tried = journal.called ? journal.tried : journal.tried + 1;
  return record(codes.onProbation, { ...journal, phase: "settling", settling, tried });
}

/**
 * Watches the process until the probation is over. Ready as late as costs nothing: it is the
 * kubelet that carries our word, and one that dies cannot take it back (docs/decisions/0006). Under
 * a release the agent is deleted as soon as its Ready counts, and must have left before it is
 * Ready, so its probation ends there.
 */
export function settle(facts: Facts, journal: Journal): Step {
  const releases = ours(facts)?.intent === "release";
  const { probation } = facts.config;
  const guard = guardSeconds * 1000;
  if (hasLived(facts, releases ? probation - guard : probation))
    return record(codes.inForce, confirmed(journal));
  const early = hasLived(facts, probation - guard - untilProbed);
  return {
    ...wait(codes.onProbation, fast),
    ready: early && !releases && isOurs(journal, facts.config),
  };
}

/** The process that is watched has fallen silent. */
export function awaitAnswerAgain(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.steady.running < answerWithin)
    return wait(codes.restarting, fast, "healthz stopped answering");
  return died(facts, journal, unit);
}

/**
 * Another process runs than the one that was watched. A node that rebooted, or an administrator:
 * systemd counts no restart of its own. What runs now has read the same file.
 */
export function replaced(facts: Facts, journal: Journal, unit: Unit): Step {
  const { invocation, replaced: before = 0 } = journal.settling ?? {};
  if (unit.invocation === invocation || unit.restarts > 0 || before >= mostReplaced)
    return died(facts, journal, unit);
  const settling = { invocation: unit.invocation, restarts: 0, replaced: before + 1 };
  return record(codes.onProbation, { ...journal, settling });
}

/** A failed attempt. What systemd starts next may prove itself. */
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

/** Revived: it answers, and is watched like any other. */
export function settleRevived(facts: Facts, journal: Journal): Step {
  if (!hasLived(facts, facts.config.probation))
    return wait(codes.onProbation, fast, "with the previous config.json");
  return revived(facts, journal);
}

/** Revived, and silent: its healthz may be off, or elsewhere. */
export function awaitLife(facts: Facts, journal: Journal): Step {
  if (facts.steady.running < livesFor)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return revived(facts, journal);
}

export function attempt(facts: Facts, journal: Journal, unit: Unit): Step {
  // No start since the journal said that one was about to be asked for, and we have asked for none:
  // our predecessor was killed first. Its attempt does not count.
  const unmade = facts.restarts === 0 && journal.called && unit.invocation === journal.owed;
  const failed = journal.tried > 0 && !unmade;
  const tired = failed && journal.phase === "restarting" && journal.tried >= attempts(journal);
  if (tired && !facts.unwritable) return rollBack(journal);
  const state = `${unit.active}/${unit.sub}, ${unit.result}`;
  const remaining = untilNext(facts, journal, spacing(journal, unit), failed);
  if (remaining > 0) {
    const reviving = journal.phase === "reviving" && journal.tried > 1;
    return wait(reviving ? codes.stillDown : codes.kubeletFailed, Math.min(remaining, 1000), state);
  }
  const next: Journal = {
    ...journal,
    owed: unit.invocation,
    tried: unmade ? Math.max(journal.tried, 1) : journal.tried + 1,
    called: true,
    calls: [...journal.calls, facts.now].slice(-16),
  };
  return {
    action: "restart",
    code:
      journal.phase === "reviving"
        ? codes.restored
        : failed
          ? codes.kubeletFailed
          : codes.restartOwed,
    detail: state,
    ready: false,
    again: 0,
    journal: next,
    unasked: journal,
    resetFirst: failed || unit.active !== "active",
    evenUnrecorded: unit.active !== "active",
  };
}

/**
 * For so many milliseconds from the start of the process; what has hardly answered yet is waited
 * for.
 */
function hasLived({ steady }: Facts, milliseconds: number): boolean {
  return steady.running >= milliseconds && steady.healthy >= Math.min(milliseconds, answersFor);
}

/** Three, as promised; one for a content that has failed before: it is only probed. */
function attempts(journal: Journal): number {
  return journal.quarantine?.content === journal.content ? 1 : 3;
}

function rollBack(journal: Journal): Step {
  // Nothing to go back to: the file is proved, or what it lacks was withdrawn. The kubelet is
  // revived with the file as it is.
  const phase = journal.undo === undefined ? "reviving" : "restoring";
  return record(phase === "restoring" ? codes.notBack : codes.stillDown, {
    ...journal,
    phase,
    called: false,
  });
}

/**
 * An attempt must not itself use up the unit's start limit; automatic restarts count there, too.
 */
function spacing(journal: Journal, { startLimit, restartDelay }: Unit): number {
  const least = Math.min(longestSpacing, Math.max(startLimit || defaultStartLimit, restartDelay));
  if (journal.phase !== "reviving") return least;
  return Math.min(longestRevival, least * 2 ** Math.min(journal.tried, 10));
}

/**
 * Milliseconds until the next attempt is due; none if the clock has jumped back behind the last
 * one.
 */
function untilNext(facts: Facts, { calls }: Journal, spacing: number, failed: boolean): number {
  // What could not be recorded is known to this process alone.
  const unrecorded = facts.unwritable ? spacing - facts.sinceRestart : 0;
  if (!failed) return Math.max(0, unrecorded);
  const elapsed = facts.now - (calls.at(-1) ?? 0);
  return Math.max(0, unrecorded, elapsed < 0 ? 0 : spacing - elapsed);
}
