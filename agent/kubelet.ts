/**
 * Restart until proved: what to do while a kubelet restart is owed, under way, or being watched. Pure.
 *
 * Whether it was made is read off the unit: the journal holds the InvocationID that was current when the file was in
 * place, and systemd gives every start a new one. Unlike a comparison of times this survives clocks that jump.
 */
import { guardSeconds } from "../pullsecret/names.ts";
import type { Facts } from "./facts.ts";
import type { Journal } from "./journal.ts";
import { quarantineFor } from "./quarantine.ts";
import { fast, record, type Step, wait } from "./step.ts";
import type { Unit } from "./unit.ts";

/** A started kubelet answers healthz within a second; 30 s leaves a starved node its time. */
const answerWithin = 30_000;
const answersFor = 1000;
/** A probe a second: for so long our word may wait to be heard. */
const untilProbed = 1000;
/** What systemd uses when a unit sets no limit: five starts in 10 s. */
const defaultStartLimit = 10_000;
const longestSpacing = 60_000;
const longestRevival = 900_000;

/** Phases restarting and reviving. */
export function restartUntilProved(facts: Facts, journal: Journal): Step {
  if (facts.config.restart === "Never") return record("GPS200", confirmed(journal));
  const unavailable = unitUnavailable(facts);
  if (unavailable !== undefined) return unavailable;
  const unit = facts.unit as Unit;
  if (isBusy(unit)) return wait("GPS213", fast, `${unit.active}/${unit.sub}`);
  if (isRunning(unit) && unit.invocation !== journal.owed) {
    if (facts.healthy) return proved(facts, journal, unit);
    if (facts.steady.running < answerWithin) return wait("GPS213", fast, "healthz does not answer yet");
  }
  return attempt(facts, journal, unit);
}

/**
 * Phase settling: the new process answers, and is watched until the settle time is over. Ready as late as costs nothing: it is
 * the kubelet that carries our word, and one that dies cannot take it back (docs/decisions/0006). `releases`: the agent
 * is deleted as soon as its Ready counts, and must have left before it is Ready, so its trial ends there.
 */
export function settle(facts: Facts, journal: Journal, releases = false): Step {
  if (facts.config.restart === "Never") return record("GPS200", confirmed(journal));
  const unavailable = unitUnavailable(facts);
  if (unavailable !== undefined) return unavailable;
  const unit = facts.unit as Unit;
  const watched = journal.settling;
  const same = isRunning(unit) && unit.invocation === watched?.invocation && unit.restarts <= watched.restarts;
  if (same && facts.healthy) {
    const { settle, revision } = facts.config;
    const guard = guardSeconds * 1000;
    if (hasLived(facts, releases ? settle - guard : settle)) return record("GPS200", confirmed(journal));
    const early = hasLived(facts, settle - guard - untilProbed);
    return { ...wait("GPS215", fast), ready: early && !releases && journal.revision === revision };
  }
  if (same && facts.steady.running < answerWithin) return wait("GPS213", fast, "healthz stopped answering");
  // A node that rebooted, or an administrator: systemd counts no restart of its own. What runs now has read the same file.
  if (isRunning(unit) && unit.invocation !== watched?.invocation && unit.restarts === 0)
    return record("GPS215", { ...journal, settling: { invocation: unit.invocation, restarts: 0 } });
  // It died: a failed attempt. What systemd starts next may prove itself.
  const { settling: _, ...rest } = journal;
  const next: Journal = { ...rest, phase: "restarting", owed: watched?.invocation ?? "", called: false };
  if (journal.tried >= attempts(journal)) return rollBack(next);
  return record("GPS214", next, `${unit.active}/${unit.sub}, ${unit.result}, within the settle time`);
}

/** For so many milliseconds from the start of the process; what has hardly answered yet is waited for. */
function hasLived({ steady }: Facts, milliseconds: number): boolean {
  return steady.running >= milliseconds && steady.healthy >= Math.min(milliseconds, answersFor);
}

function proved(facts: Facts, journal: Journal, unit: Unit): Step {
  if (journal.phase === "restarting") {
    const settling = { invocation: unit.invocation, restarts: unit.restarts };
    const tried = journal.called ? journal.tried : journal.tried + 1;
    return record("GPS215", { ...journal, phase: "settling", settling, tried });
  }
  if (!hasLived(facts, facts.config.settle)) return wait("GPS215", fast, "with the previous config.json");
  if (journal.undo === undefined) return record("GPS200", confirmed(journal));
  const { revision, content, owned } = journal.undo;
  const quarantine = quarantineFor(facts, journal);
  return record("GPS218", { ...confirmed(journal), revision, content, owned, quarantine });
}

function attempt(facts: Facts, journal: Journal, unit: Unit): Step {
  // No start since the journal said that one was about to be asked for, and we have asked for none: our predecessor was
  // killed first. Its attempt does not count.
  const unmade = facts.restarts === 0 && journal.called && unit.invocation === journal.owed;
  const failed = journal.tried > 0 && !unmade;
  if (journal.phase === "restarting" && failed && journal.tried >= attempts(journal)) return rollBack(journal);
  const state = `${unit.active}/${unit.sub}, ${unit.result}`;
  if (failed) {
    const remaining = sinceLastCall(facts, journal, spacing(journal, unit));
    if (remaining > 0) {
      const reviving = journal.phase === "reviving" && journal.tried > 1;
      return wait(reviving ? "GPS220" : "GPS214", Math.min(remaining, 1000), state);
    }
  }
  const next: Journal = {
    ...journal,
    owed: unit.invocation,
    tried: unmade ? Math.max(journal.tried, 1) : journal.tried + 1,
    called: true,
    calls: [...journal.calls, facts.now].slice(-16),
  };
  const resetFirst = failed || unit.active !== "active";
  const code = journal.phase === "reviving" ? "GPS217" : failed ? "GPS214" : "GPS212";
  return {
    action: "restart",
    code,
    detail: state,
    ready: false,
    again: 0,
    journal: next,
    unasked: journal,
    resetFirst,
  };
}

/** Three, as promised; one for a content that has failed before: it is only probed. */
function attempts(journal: Journal): number {
  return journal.quarantine?.content === journal.content ? 1 : 3;
}

function rollBack(journal: Journal): Step {
  // Nothing to go back to: the file is proved, the kubelet has another trouble. It is revived with the file as it is.
  const phase = journal.undo === undefined ? "reviving" : "restoring";
  return record(phase === "restoring" ? "GPS216" : "GPS220", { ...journal, phase, called: false });
}

/** An attempt must not itself use up the unit's start limit; automatic restarts count there, too. */
function spacing(journal: Journal, { startLimit, restartDelay }: Unit): number {
  const least = Math.min(longestSpacing, Math.max(startLimit || defaultStartLimit, restartDelay));
  if (journal.phase !== "reviving") return least;
  return Math.min(longestRevival, least * 2 ** Math.min(journal.tried, 10));
}

/** Milliseconds that remain; none if the clock has jumped back behind the last attempt. */
function sinceLastCall({ now }: Facts, { calls }: Journal, spacing: number): number {
  const elapsed = now - (calls.at(-1) ?? 0);
  return elapsed < 0 ? 0 : Math.max(0, spacing - elapsed);
}

/** The change is over and proved. */
export function confirmed(journal: Journal): Journal {
  const { undo: _undo, owed: _owed, settling: _settling, quarantine, ...rest } = journal;
  return {
    ...rest,
    phase: "applied",
    matters: false,
    tried: 0,
    called: false,
    // Another content's quarantine outlives the change: that content may come back.
    ...(quarantine !== undefined && quarantine.content !== journal.content && { quarantine }),
  };
}

/** Why systemd cannot tell us about the unit, if so: then nothing is changed. */
export function unitUnavailable(facts: Facts): Step | undefined {
  const missing = unitMissing(facts);
  if (missing !== undefined) return missing;
  return facts.unit !== undefined && "active" in facts.unit ? undefined : wait("GPS210", fast);
}

/** Why there is nothing that could be restarted, if so. */
export function unitMissing({ unit, config }: Facts): Step | undefined {
  if (unit === undefined) return wait("GPS210", fast);
  if ("unknown" in unit) return wait("GPS210", "back off", unit.unknown);
  if (unit.load !== "loaded") return wait("GPS211", "back off", `${config.unit}: ${unit.load}`);
  return undefined;
}

function isRunning({ active, mainPid }: Unit): boolean {
  return active === "active" && mainPid > 0;
}

/** Something is under way that ends by itself; the wait before an automatic restart is not. */
function isBusy({ busy, active, sub }: Unit): boolean {
  if (sub.startsWith("auto-restart")) return false;
  return busy || ["activating", "deactivating", "reloading"].includes(active);
}
