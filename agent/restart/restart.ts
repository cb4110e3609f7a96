/**
 * Restart until proved: what to do while a kubelet restart is owed or under way; probation.ts says
 * what proves it. Pure. The table in phases.ts says which rule applies.
 *
 * The unit itself shows whether a restart was made: the journal holds the InvocationID from when
 * the file was put in place, and systemd gives every start a new one. Unlike times, this survives
 * clocks that jump.
 */
import { answerSeconds, restartAttempts, spacingSeconds } from "#contract/times.ts";
import type { Facts } from "../facts/facts.ts";
import { confirmed, type Journal, unproved } from "../journal/journal.ts";
import { isRestartedBySystemd, isRunning } from "../facts/kubelet-state.ts";
import { atOnce, fast, record, soon, type Step, wait } from "../facts/step.ts";
import type { Unit } from "../systemd/unit.ts";
import { codes } from "../facts/problems.ts";

export const answerWithin = answerSeconds * 1000;
/** What systemd uses when a unit sets no limit: five starts in 10 s. */
const defaultStartLimit = 10_000;
const longestSpacing = spacingSeconds * 1000;
const longestRevival = 900_000;
/** Between revivals of a kubelet that systemd starts again and again: ours add nothing to those. */
const besideSystemd = 3_600_000;
/** The unit is unknown or missing: nothing changes, and the kubelet has not failed. */
export function awaitUnit(facts: Facts): Step {
  return unitMissing(facts) ?? wait(codes.systemdUnknown, fast);
}

/** Why there is no unit to restart; undefined if there is one. */
export function unitMissing({ unit }: Facts): Step | undefined {
  if (unit === undefined) return wait(codes.systemdUnknown, fast);
  if ("notAsked" in unit) return wait(codes.systemdUnknown, fast);
  if ("unknown" in unit)
    return wait(
      unit.absent ? codes.noSystemd : unit.outdated ? codes.systemdTooOld : codes.systemdUnknown,
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

/** The new process has not answered yet: after 30 s the attempt has failed. */
export function awaitAnswer(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.stopwatch.running < answerWithin)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return attempt(facts, journal, unit);
}

/** The journal after systemd has refused a restart once more. */
export function denied(journal: Journal, why: string): Journal {
  return { ...journal, denied: { times: (journal.denied?.times ?? 0) + 1, why } };
}

/**
 * What follows three refusals: the previous file, or a kubelet that reads its file again by itself.
 * Undefined while it is down, since nothing else can bring it back.
 */
function afterRefusals(facts: Facts, journal: Journal, unit: Unit): Step | undefined {
  const { times = 0, why } = journal.denied ?? {};
  if (times < restartAttempts || facts.unwritable) return undefined;
  if (journal.phase === "restarting" && journal.undo !== undefined) return rollBack(journal, why);
  if (!isRunning(unit)) return undefined;
  const { quarantine } = journal;
  if (journal.phase === "reviving" && quarantine !== undefined && !quarantine.told)
    return record(codes.rolledBack, confirmed(journal), why);
  return record(codes.toBeReread, unproved(journal), why);
}

export function attempt(facts: Facts, journal: Journal, unit: Unit): Step {
  const refused = afterRefusals(facts, journal, unit);
  if (refused !== undefined) return refused;
  // The journal announces a restart, nothing has started since, and this process asked for none:
  // our predecessor was killed before it asked. Its attempt does not count.
  const unmade = facts.restarts === 0 && journal.called && unit.invocation === journal.owed;
  const failed = journal.tried > 0 && !unmade;
  const tired = failed && journal.phase === "restarting" && journal.tried >= attempts(journal);
  if (tired && !facts.unwritable) return rollBack(journal);
  const state = `${unit.active}/${unit.sub}, ${unit.result}`;
  const remaining = untilNext(facts, journal, spacing(journal, unit), failed);
  if (remaining > 0) {
    const again = journal.tried > 1 || isRestartedBySystemd(unit);
    const isStillDown = journal.phase === "reviving" && again;
    return wait(
      isStillDown ? codes.stillDown : codes.kubeletFailed,
      Math.min(remaining, 1000),
      state,
    );
  }
  // A process that starts from now on reads the file as it is.
  const { rereads: _rereads, ...rest } = journal;
  const next: Journal = {
    ...rest,
    owed: unit.invocation,
    tried: unmade ? Math.max(journal.tried, 1) : journal.tried + 1,
    called: true,
    calls: [...journal.calls, facts.now].slice(-16),
  };
  const code = failed ? codes.kubeletFailed : codes.restartOwed;
  return atOnce({
    action: "restart",
    code: journal.phase === "reviving" ? codes.restored : code,
    detail: state,
    journal: next,
    unasked: journal,
    resetFirst: failed || unit.active !== "active",
    evenUnrecorded: unit.active !== "active",
  });
}

/** Three, as promised; one for a content that has failed before. */
export function attempts(journal: Journal): number {
  return journal.quarantine?.content === journal.content ? 1 : restartAttempts;
}

/** Puts the previous file back, or revives the kubelet where there is none to put back. */
export function rollBack(journal: Journal, why?: string): Step {
  // Nothing to go back to: the content is proved, or a withdrawal. The kubelet is revived with the
  // file as it is.
  const phase = journal.undo === undefined ? "reviving" : "restoring";
  const otherwise = phase === "restoring" ? codes.notBack : codes.stillDown;
  const code = why === undefined ? otherwise : codes.restartRefused;
  return record(code, { ...journal, phase, called: false }, why);
}

/**
 * Milliseconds between attempts, so that ours do not use up the unit's start limit, which automatic
 * restarts count against, too.
 */
function spacing(journal: Journal, unit: Unit): number {
  const { startLimit, restartDelay } = unit;
  const least = Math.min(longestSpacing, Math.max(startLimit || defaultStartLimit, restartDelay));
  if (journal.phase !== "reviving") return least;
  if (isRestartedBySystemd(unit)) return besideSystemd;
  return Math.min(longestRevival, least * 2 ** Math.min(journal.tried, 10));
}

/** Milliseconds until the next attempt is due; 0 if the clock jumped back behind the last one. */
function untilNext(facts: Facts, { calls }: Journal, spacing: number, failed: boolean): number {
  // Only this process knows of an attempt that could not be recorded.
  const unrecorded = facts.unwritable ? spacing - facts.sinceRestart : 0;
  if (!failed) return Math.max(0, unrecorded);
  const elapsed = facts.now - (calls.at(-1) ?? 0);
  return Math.max(0, unrecorded, elapsed < 0 ? 0 : spacing - elapsed);
}
