/**
 * Decides the next step while config.json matches the journal: restart, probation or rollback.
 * Pure. First comes a table, phase × restart policy × state of the kubelet, then the rules in its
 * cells. The compiler requires every cell. So the table covers every state of a unit, also if the
 * agent's flags change in the middle of a phase.
 *
 * The unit itself shows whether a restart was made. The journal records the InvocationID from the
 * moment when the file was in place, and systemd gives each start a new InvocationID. Unlike times,
 * this works when clocks jump.
 */
import { belongsTo } from "#contract/order.ts";
import type { Facts } from "../facts/facts.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import { activeOrder, orderKey } from "../facts/order.ts";
import { confirmed, type Journal, quarantineFor, unproved } from "../journal/journal.ts";
import {
  type KnownState,
  type KubeletState,
  stateOf,
  unitOf,
  isRestartedBySystemd,
  isRunning,
  unitMissing,
} from "../facts/kubelet-state.ts";
import {
  type Answer,
  ask,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
  codes,
  type Code,
  atOnce,
  fast,
} from "../facts/step.ts";
import type { Unit } from "../systemd/unit.ts";
import { answerSeconds, restartAttempts, spacingSeconds, rereadSeconds } from "#contract/times.ts";

type RuleWithoutUnit = (facts: Facts, journal: Journal) => Answer;
type PhaseRule = (facts: Facts, journal: Journal, unit: Unit) => Answer;
type Row = Readonly<
  Record<Exclude<KubeletState, KnownState>, RuleWithoutUnit> & Record<KnownState, PhaseRule>
>;
type PhaseTable = Readonly<
  Record<Journal["phase"], Readonly<Record<Facts["config"]["restart"], Row>>>
>;

const withoutUnit = { unknown: awaitUnit, gone: awaitUnit } as const;

export const table: PhaseTable = {
  applied: { Always: always(idle), Never: always(idle) },
  applying: {
    Always: {
      unknown: ifOwed(awaitUnit),
      gone: ifOwed(awaitUnit),
      busy: ifOwed(afterWrite),
      down: ifOwed(afterWrite),
      other: ifOwed(afterWrite),
      silent: ifOwed(afterWrite),
      answering: ifOwed(afterWrite),
    },
    Never: always(afterWriteWithoutRestart),
  },
  restarting: {
    Always: {
      ...withoutUnit,
      busy: awaitJob,
      down: attempt,
      other: attempt,
      silent: awaitAnswer,
      answering: watch,
    },
    // A process that started after the rename has read the new file.
    Never: { ...always(awaitReread), silent: confirm, answering: confirm },
  },
  settling: {
    Always: {
      ...withoutUnit,
      busy: awaitJob,
      down: died,
      other: replaced,
      silent: awaitAnswerAgain,
      answering: awaitProbation,
    },
    // The new process has answered with this file. Without restarts, we could not repair a later
    // failure, so we do not wait for one.
    Never: always(confirm),
  },
  // The previous file is restored. Our entries are the same as before the change.
  restoring: { Always: always(afterRestore), Never: always(afterRestoreWithoutRestart) },
  reviving: {
    Always: {
      ...withoutUnit,
      busy: awaitJob,
      down: attempt,
      other: attempt,
      silent: awaitRevivedAnswer,
      answering: awaitRevivedProbation,
    },
    Never: always(revived),
  },
};

/**
 * Applies the rule of the cell, with one exception. If a change was made in a mode without
 * restarts, and there is no order now, the agent waits until the kubelet rereads the file by
 * itself, whatever systemd reports. A restart would need its own order.
 */
export function byTable(facts: Facts, journal: Journal): Answer {
  if (isAwaitingReread(journal) && activeOrder(facts.order) === undefined)
    return awaitReread(facts, journal);
  const row = table[journal.phase][facts.config.restart];
  const state = stateOf(facts, journal);
  const unit = unitOf(facts);
  if (state === "unknown" || state === "gone") return row[state](facts, journal);
  return unit === undefined ? row.unknown(facts, journal) : row[state](facts, journal, unit);
}

function always(rule: RuleWithoutUnit): Row {
  return {
    unknown: rule,
    gone: rule,
    busy: rule,
    down: rule,
    other: rule,
    silent: rule,
    answering: rule,
  };
}

function idle(facts: Facts, journal: Journal): Answer {
  return idleAs(facts, journal, codes.inForce);
}

/** The content is in force, unless the kubelet still has to reread the file. */
export function idleAs(facts: Facts, journal: Journal, code: Code): Answer {
  const answer = inForce(facts, code);
  if (answer.action !== "nothing") return answer;
  return awaitRepaired(facts, journal) ?? answer;
}

/**
 * In force while the kubelet answers. If no restart is due, we do not start a stopped kubelet,
 * because an administrator might have stopped it.
 */
function inForce(facts: Facts, code: Code): Answer {
  if (facts.healthy === undefined) return ask("healthz");
  if (!facts.healthy) return wait(codes.kubeletSilent, soon);
  // A kubelet that was moved to another directory does not read our file any more.
  if (facts.elsewhere !== undefined) return refuse(codes.elsewhere, resync, facts.elsewhere);
  const { unfit, note, rivals } = facts.file as Partial<FoundFile>;
  if (unfit !== undefined) return refuse(codes.providerUnfit, soon, unfit);
  const { journal } = facts;
  const detail = note ?? (journal.kind === "journal" && rivals?.(journal.journal.owned));
  const result = code === codes.inForce ? ({ result: "Proved" } as const) : {};
  return { action: "nothing", code, ...result, again: resync, ...(detail && { detail }) };
}

function confirm(_facts: Facts, journal: Journal): Step {
  return record(codes.inForce, confirmed(journal));
}

/**
 * Applies the rule if a restart is due: the file changes the kubelet's credentials, or a restart
 * was due before. If none is due, confirms the change.
 */
function ifOwed<Unit extends readonly unknown[]>(
  rule: (facts: Facts, journal: Journal, ...unit: Unit) => Answer,
) {
  return (facts: Facts, journal: Journal, ...unit: Unit) =>
    journal.matters || journal.owed !== undefined
      ? rule(facts, journal, ...unit)
      : confirm(facts, journal);
}

/**
 * The file is in place. Records the present InvocationID: a process with another InvocationID has
 * started after the write. If the restart can be requested at once, its record is enough, which
 * saves a round and two syncs.
 */
function afterWrite(facts: Facts, journal: Journal, unit: Unit): Answer {
  const owed = journal.matters || journal.owed === undefined ? unit.invocation : journal.owed;
  const restarting: Journal = { ...journal, phase: "restarting", owed };
  const step = byTable(facts, restarting);
  return step.action === "restart" ? step : record(codes.restartOwed, restarting);
}

/**
 * The file is in place. If the credentials changed, waits until the kubelet rereads the file by
 * itself.
 */
function afterWriteWithoutRestart(facts: Facts, journal: Journal): Step {
  const owes = journal.matters || journal.owed !== undefined || journal.renamed !== undefined;
  if (!owes) return record(codes.inForce, confirmed(journal));
  const { owed: _owed, ...rest } = journal;
  // Undefined if systemd did not answer. A process with another InvocationID has read the file.
  const owed = unitOf(facts)?.invocation;
  return awaitReread(facts, { ...rest, phase: "restarting", ...(owed !== undefined && { owed }) });
}

function afterRestore(facts: Facts, journal: Journal): Step {
  const { owed: _owed, ...rest } = undone(facts, journal);
  const owed = unitOf(facts)?.invocation;
  return record(codes.restored, {
    ...rest,
    phase: "reviving",
    tried: 0,
    called: false,
    ...(owed !== undefined && { owed }),
  });
}

function afterRestoreWithoutRestart(facts: Facts, journal: Journal): Step {
  return revived(facts, undone(facts, journal));
}

// Restarts

const answerWithin = answerSeconds * 1000;
/** Used for a unit without a start limit: systemd's default is five starts in 10 s. */
const defaultStartLimit = 10_000;
const longestSpacing = spacingSeconds * 1000;
const longestRevival = 900_000;
/**
 * Milliseconds between our restarts of a kubelet that systemd itself keeps restarting. More
 * restarts would not help.
 */
const besideSystemd = 3_600_000;
/** The unit is unknown or missing. The agent waits. This does not count as a failed attempt. */
function awaitUnit(facts: Facts): Step {
  return unitMissing(facts) ?? wait(codes.systemdUnknown, fast);
}

function awaitJob(_facts: Facts, _journal: Journal, unit: Unit): Step {
  return wait(codes.restarting, fast, `${unit.active}/${unit.sub}`);
}

/** The new process does not answer yet. After 30 s the attempt has failed. */
function awaitAnswer(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.stopwatch.running < answerWithin)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return attempt(facts, journal, unit);
}

/**
 * The step after systemd refused the restart three times: restore the previous file, or let a
 * running kubelet reread its file. Undefined for a stopped kubelet without a previous file, because
 * only a restart can start it.
 */
function afterRefusals(facts: Facts, journal: Journal, unit: Unit): Step | undefined {
  const { times = 0, why } = journal.denied ?? {};
  if (times < restartAttempts || facts.unwritable) return undefined;
  if (journal.phase === "restarting" && journal.undo !== undefined) return rollBack(journal, why);
  if (!isRunning(unit)) return undefined;
  const { quarantine } = journal;
  if (journal.phase === "reviving" && quarantine !== undefined && !quarantine.told)
    return record(
      codes.rolledBack,
      { ...confirmed(journal), quarantine: told(facts, quarantine) },
      why,
    );
  return record(codes.toBeReread, unproved(journal), why);
}

function attempt(facts: Facts, journal: Journal, unit: Unit): Step {
  const refused = afterRefusals(facts, journal, unit);
  if (refused !== undefined) return refused;
  // The journal announces a restart, but no kubelet process has started since, and this agent
  // process has requested no restart. So the previous agent process was killed before its request.
  // That attempt does not count.
  const unmade = facts.restarts === 0 && journal.called && unit.invocation === journal.owed;
  const failed = journal.tried > 0 && !unmade;
  const isExhausted =
    failed && journal.phase === "restarting" && journal.tried >= attempts(journal);
  if (isExhausted && !facts.unwritable) return rollBack(journal);
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
  // A process that starts from now on reads the present file, so no reread is due any more.
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

/** Restart attempts before a rollback: three, or one for content that has failed before. */
function attempts(journal: Journal): number {
  return journal.quarantine?.content === journal.content ? 1 : restartAttempts;
}

/** Restores the previous file, or revives the kubelet if there is no previous file. */
function rollBack(journal: Journal, why?: string): Step {
  // Without an undo, the content was proved before, or it is a withdrawal. In both cases, the
  // kubelet is revived with the present file.
  const phase = journal.undo === undefined ? "reviving" : "restoring";
  const otherwise = phase === "restoring" ? codes.notBack : codes.stillDown;
  const code = why === undefined ? otherwise : codes.restartRefused;
  return record(code, { ...journal, phase, called: false }, why);
}

/**
 * Milliseconds between our attempts, which must not exhaust the unit's start limit. Automatic
 * restarts also count against that limit.
 */
function spacing(journal: Journal, unit: Unit): number {
  const { startLimit, restartDelay } = unit;
  const least = Math.min(longestSpacing, Math.max(startLimit || defaultStartLimit, restartDelay));
  if (journal.phase !== "reviving") return least;
  if (isRestartedBySystemd(unit)) return besideSystemd;
  return Math.min(longestRevival, least * 2 ** Math.min(journal.tried, 10));
}

/** Milliseconds until the next attempt; 0 if the clock jumped back to before the last attempt. */
function untilNext(facts: Facts, { calls }: Journal, spacing: number, failed: boolean): number {
  // If an attempt could not be recorded, only this process has measured the time since then.
  const unrecorded = facts.unwritable ? spacing - facts.sinceRestart : 0;
  if (!failed) return Math.max(0, unrecorded);
  const elapsed = facts.now - (calls.at(-1) ?? 0);
  return Math.max(0, unrecorded, elapsed < 0 ? 0 : spacing - elapsed);
}

// Probation: the proof that the restarted kubelet works with the new file.

/**
 * For how many milliseconds of a probation healthz must answer; less if the probation is shorter.
 */
const answersFor = 1000;
/** Milliseconds after which a process counts as alive after a rollback, even without healthz. */
const aliveAfter = 180_000;
/**
 * How many replaced processes one probation accepts: one for a reboot, and one for a restart by an
 * administrator. If there are more, the kubelet is failing.
 */
const mostReplaced = 2;

/** The new process answers. Its probation begins. */
function watch(_facts: Facts, journal: Journal, unit: Unit): Step {
  const settling = { invocation: unit.invocation, restarts: unit.restarts };
  const tried = journal.called ? journal.tried : journal.tried + 1;
  return record(codes.onProbation, { ...journal, phase: "settling", settling, tried });
}

/**
 * Watches the process until the probation is over. Only then does the agent report that the content
 * is proved.
 */
function awaitProbation(facts: Facts, journal: Journal): Step {
  if (!hasLived(facts, facts.config.probation)) return wait(codes.onProbation, fast);
  return record(codes.inForce, confirmed(journal));
}

function awaitAnswerAgain(facts: Facts, journal: Journal, unit: Unit): Step {
  if (facts.stopwatch.running < answerWithin)
    return wait(codes.restarting, fast, "healthz stopped answering");
  return died(facts, journal, unit);
}

/**
 * Another process has replaced the watched process. If systemd counts no automatic restart, the
 * node rebooted or an administrator restarted the kubelet. The new process has read the same file.
 */
function replaced(facts: Facts, journal: Journal, unit: Unit): Step {
  const { invocation, replaced: before = 0 } = journal.settling ?? {};
  if (unit.invocation === invocation || unit.restarts > 0 || before >= mostReplaced)
    return died(facts, journal, unit);
  const settling = { invocation: unit.invocation, restarts: 0, replaced: before + 1 };
  return record(codes.onProbation, { ...journal, settling });
}

/** The attempt failed. The process that systemd starts next can still pass the probation. */
function died(facts: Facts, journal: Journal, unit: Unit): Step {
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

/** The revived kubelet answers. It passes the same probation. */
function awaitRevivedProbation(facts: Facts, journal: Journal): Step {
  if (!hasLived(facts, facts.config.probation))
    return wait(codes.onProbation, fast, "with the previous config.json");
  return revived(facts, journal);
}

/** The revived kubelet does not answer. Its healthz might be off or on another port. */
function awaitRevivedAnswer(facts: Facts, journal: Journal): Step {
  if (facts.stopwatch.running < aliveAfter)
    return wait(codes.restarting, fast, "healthz does not answer yet");
  return revived(facts, journal);
}

/**
 * Whether the process has run for `milliseconds`, and has answered healthz for `answersFor` of this
 * time.
 */
function hasLived({ stopwatch }: Facts, milliseconds: number): boolean {
  return (
    stopwatch.running >= milliseconds && stopwatch.healthy >= Math.min(milliseconds, answersFor)
  );
}

// Without a restart: the wait until the kubelet has had time to reread the file.

const rereadAfter = rereadSeconds * 1000;
const longestWait = 10_000;

/**
 * Whether the agent waits for the reread of a change that was made in a mode without restarts. Such
 * a change cannot have stopped the kubelet.
 */
export function isAwaitingReread({ phase, owed, renamed }: Journal): boolean {
  return phase === "restarting" && owed === undefined && renamed !== undefined;
}

/** Without a restart: records the time when the file was in place, then waits for the reread. */
function awaitReread(facts: Facts, journal: Journal): Step {
  const { renamed } = journal;
  if (renamed === undefined)
    return record(codes.toBeReread, { ...journal, phase: "restarting", renamed: facts.time });
  const { rereads: _rereads, ...read } = confirmed(journal);
  return waitForReread(renamed, facts) ?? record(codes.inForce, read);
}

/**
 * Waits for the reread after the agent repaired a drift without a restart; undefined if there was
 * no such repair. A process that was started since the repair has read the file.
 */
function awaitRepaired(facts: Facts, journal: Journal): Answer | undefined {
  if (journal.rereads === undefined) return undefined;
  if (facts.unit === undefined) return ask("kubelet");
  const { rereads, renamed, ...read } = journal;
  const runs = unitOf(facts)?.invocation ?? "";
  if (renamed === undefined)
    return record(codes.toBeReread, { ...journal, rereads: runs, renamed: facts.time });
  const isAnother = rereads !== "" && runs !== "" && runs !== rereads;
  const waits = isAnother ? undefined : waitForReread(renamed, facts);
  return waits ?? record(codes.inForce, read);
}

/** The wait for the reread; undefined once it is over. */
function waitForReread(
  renamed: NonNullable<Journal["renamed"]>,
  { time }: Facts,
): Step | undefined {
  // The node has rebooted since the write: every process has read the new file.
  if (renamed.boot !== time.boot) return undefined;
  const remaining = renamed.monotonic + rereadAfter - time.monotonic;
  if (remaining <= 0) return undefined;
  const detail = `${Math.ceil(remaining / 1000)} s more`;
  return wait(codes.toBeReread, Math.min(remaining, longestWait), detail);
}

// Rollback and quarantine

/**
 * The journal after the previous file is restored. Our entries are the same as before the change,
 * and the failed content is in quarantine. The quarantine starts again once the kubelet has passed
 * its probation. The credential provider's answer still counts as ours, so that a later withdrawal
 * empties it in any mode.
 */
function undone(facts: Facts, journal: Journal): Journal {
  const { undo, settling: _settling, renamed: _renamed, ...rest } = journal;
  if (undo === undefined) return journal;
  const { revision, digest, content } = undo;
  const { answer } = journal.owned;
  const before = "undone" in facts.file ? facts.file.undone(journal) : undo.owned;
  const owned = { ...(answer !== undefined && { answer }), ...before };
  return {
    ...rest,
    revision,
    digest,
    content,
    owned,
    quarantine: quarantineFor(journal, facts.now),
  };
}

/** Records that the kubelet runs again after a rollback. */
function revived(facts: Facts, journal: Journal): Step {
  const { quarantine } = journal;
  // If there is no quarantine, this was not a rollback, but a repaired drift or a withdrawal.
  if (quarantine === undefined || quarantine.told) return record(codes.inForce, confirmed(journal));
  return record(codes.rolledBack, {
    ...confirmed(journal),
    quarantine: { ...told(facts, quarantine), since: facts.now },
  });
}

/**
 * The kubelet runs again, so the failure is reported from now on. It also answers an order for the
 * same content that came during the change. Otherwise the node would at once try the content again.
 */
function told({ order }: Facts, quarantine: NonNullable<Journal["quarantine"]>): typeof quarantine {
  const key = belongsTo(quarantine, order) ? orderKey(order) : undefined;
  return { ...quarantine, told: true, ...(key !== undefined && { grant: key }) };
}
