/**
 * What to do while config.json is as the journal says: one table, phase × restart policy × state of
 * the kubelet. Pure. A missing cell does not compile, so every state of a unit is thought of, and
 * every flag that changes in mid-phase.
 */
import type { Facts } from "../facts/facts.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import { granted } from "../facts/grant.ts";
import { confirmed, type Journal } from "../journal/journal.ts";
import { attempt, awaitAnswer, awaitUnit, underWay } from "./restart.ts";
import {
  awaitAnswerAgain,
  awaitLife,
  died,
  replaced,
  awaitProbation,
  awaitRevivedProbation,
  watch,
} from "./probation.ts";
import { revived, undone } from "./quarantine.ts";
import { awaitRepaired, awaitReread, isAwaited } from "./reread.ts";
import { type SeenState, type KubeletState, stateOf, unitOf } from "../facts/kubelet-state.ts";
import { type Answer, ask, record, refuse, resync, soon, type Step, wait } from "../facts/step.ts";
import type { Unit } from "../systemd/unit.ts";
import { codes, type Code } from "../facts/problems.ts";

type Blind = (facts: Facts, journal: Journal) => Answer;
type PhaseRule = (facts: Facts, journal: Journal, unit: Unit) => Answer;
type Row = Readonly<Record<Exclude<KubeletState, SeenState>, Blind> & Record<SeenState, PhaseRule>>;
type PhaseTable = Readonly<
  Record<Journal["phase"], Readonly<Record<Facts["config"]["restart"], Row>>>
>;

const untold = { unknown: awaitUnit, gone: awaitUnit } as const;

export const table: PhaseTable = {
  applied: { Always: always(idle), Never: always(idle) },
  applying: {
    Always: {
      unknown: owing(awaitUnit),
      gone: owing(awaitUnit),
      busy: owing(written),
      down: owing(written),
      other: owing(written),
      silent: owing(written),
      answering: owing(written),
    },
    Never: always(leftToReread),
  },
  restarting: {
    Always: {
      ...untold,
      busy: underWay,
      down: attempt,
      other: attempt,
      silent: awaitAnswer,
      answering: watch,
    },
    // A process that was started after the rename has nothing older to remember.
    Never: { ...always(awaitReread), silent: confirm, answering: confirm },
  },
  settling: {
    Always: {
      ...untold,
      busy: underWay,
      down: died,
      other: replaced,
      silent: awaitAnswerAgain,
      answering: awaitProbation,
    },
    // Its start was proved; what becomes of it is no longer ours to mend.
    Never: always(confirm),
  },
  // The previous file is back, with what was ours then.
  restoring: { Always: always(putBack), Never: always(putBackForGood) },
  reviving: {
    Always: {
      ...untold,
      busy: underWay,
      down: attempt,
      other: attempt,
      silent: awaitLife,
      answering: awaitRevivedProbation,
    },
    Never: always(revived),
  },
};

/**
 * Asks the rule of the cell. What was changed in another mode is left to the kubelet, whatever
 * systemd says: a restart needs a grant of its own.
 */
export function byTable(facts: Facts, journal: Journal): Answer {
  if (isAwaited(journal) && granted(facts.grant) === undefined) return awaitReread(facts, journal);
  const row = table[journal.phase][facts.config.restart];
  const state = stateOf(facts, journal);
  const unit = unitOf(facts);
  if (state === "unknown" || state === "gone") return row[state](facts, journal);
  return unit === undefined ? row.unknown(facts, journal) : row[state](facts, journal, unit);
}

function always(rule: Blind): Row {
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

/** In force, but for a kubelet that has still to read the file again. */
export function idleAs(facts: Facts, journal: Journal, code: Code): Answer {
  const answer = inForce(facts, code);
  if (answer.action !== "nothing") return answer;
  return awaitRepaired(facts, journal) ?? answer;
}

/**
 * Ready while the kubelet answers. A kubelet that is down while nothing is owed is not ours to
 * start: an administrator may have stopped it.
 */
function inForce(facts: Facts, code: Code): Answer {
  if (facts.healthy === undefined) return ask("healthz");
  if (!facts.healthy) return wait(codes.kubeletSilent, soon);
  // An agent from before this check may have written there.
  if (facts.elsewhere !== undefined) return refuse(codes.elsewhere, resync, facts.elsewhere);
  const { unfit, note, rivals } = facts.file as Partial<FoundFile>;
  if (unfit !== undefined) return refuse(codes.providerUnfit, soon, unfit);
  const { journal } = facts;
  const detail = note ?? (journal.kind === "journal" && rivals?.(journal.journal.owned));
  return { action: "nothing", code, ready: true, again: resync, ...(detail && { detail }) };
}

function confirm(_facts: Facts, journal: Journal): Step {
  return record(codes.inForce, confirmed(journal));
}

/**
 * Applies the rule if a restart is owed: the file matters to the kubelet, or one was owed before.
 */
function owing<Unit extends readonly unknown[]>(
  rule: (facts: Facts, journal: Journal, ...unit: Unit) => Answer,
) {
  return (facts: Facts, journal: Journal, ...unit: Unit) =>
    journal.matters || journal.owed !== undefined
      ? rule(facts, journal, ...unit)
      : confirm(facts, journal);
}

/**
 * The file is in place: from now on, a process with another InvocationID was started after it. A
 * restart that can be asked for at once needs no record of its own, which saves a look and two
 * syncs.
 */
function written(facts: Facts, journal: Journal, unit: Unit): Answer {
  const owed = journal.matters || journal.owed === undefined ? unit.invocation : journal.owed;
  const restarting: Journal = { ...journal, phase: "restarting", owed };
  const step = byTable(facts, restarting);
  return step.action === "restart" ? step : record(codes.restartOwed, restarting);
}

/** The file is in place, and the kubelet rereads it by itself, if it matters to it. */
function leftToReread(facts: Facts, journal: Journal): Step {
  const owes = journal.matters || journal.owed !== undefined || journal.renamed !== undefined;
  if (!owes) return record(codes.inForce, confirmed(journal));
  const { owed: _owed, ...rest } = journal;
  // Known if systemd could be asked: a process with another InvocationID has read the file.
  const owed = unitOf(facts)?.invocation;
  return awaitReread(facts, { ...rest, phase: "restarting", ...(owed !== undefined && { owed }) });
}

function putBack(facts: Facts, journal: Journal): Step {
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

function putBackForGood(facts: Facts, journal: Journal): Step {
  return revived(facts, undone(facts, journal));
}
