/**
 * Decides the next step while config.json is what the journal describes. Pure. A table: phase ×
 * process of the kubelet, with the reason in each cell. The compiler requires every cell.
 *
 * A kubelet that is alive is never killed. The only living process that the agent restarts is the
 * one that ran when the file was put in place. A process that starts is waited for without limit.
 * Only a process that died is a failed attempt, and if systemd starts it again, that start is the
 * next attempt.
 */
import { belongsTo, keyOf } from "#contract/order.ts";
import { rereadSeconds, restartAttempts, slowSeconds, spacingSeconds } from "#contract/times.ts";
import { rivalsIn } from "../delivery/config-json/rivals.ts";
import { documentIn, overlay } from "../delivery/config-json/overlay.ts";
import type { Facts } from "../facts/facts.ts";
import { type ProcessState, stateOf, unitMissing, unitOf } from "../facts/kubelet-state.ts";
import { activeOrder, contentFor, isFailureOf } from "../facts/order.ts";
import {
  type Answer,
  ask,
  atOnce,
  codes,
  fast,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
} from "../facts/step.ts";
import {
  type BootTime,
  type Content,
  isNothing,
  type Journal,
  never,
  resting,
  type Resting,
  type Restarting,
  type Reviving,
} from "../journal/journal.ts";
import { isClean, isMoved, unremovable, unservedIn } from "../delivery/runtime/plan.ts";
import { change, whyNoContent, whyUnprepared } from "./change.ts";
import { excessOf, isReleased } from "./file.ts";

type Rule<J extends Journal> = (facts: Facts, journal: J, reason: string) => Answer;
type Row<J extends Journal> = Readonly<Record<ProcessState, readonly [reason: string, Rule<J>]>>;

const restartingRow: Row<Restarting> = {
  unknown: ["systemd does not report the unit", orLeave(awaitUnit)],
  old: ["the restart that the order allows", orLeave(restartOld)],
  starting: ["the new process is alive", unlessFailed(awaitStart)],
  "auto-restart": ["it died, and systemd starts it again", unlessFailed(awaitSystemd)],
  dead: ["it died, and only a request starts it again", unlessFailed(startAgain)],
  // A process that lives is judged by itself, unless we recorded that three others died.
  up: ["the new process works", unlessFailed(awaitProbation, (_, { deaths }) => deaths)],
};

const revivingRow: Row<Reviving> = {
  unknown: ["systemd does not report the unit", orLeave(awaitUnit)],
  old: ["it runs", revived],
  starting: ["it is alive", awaitStart],
  "auto-restart": ["systemd starts it", awaitSystemd],
  dead: ["only a request starts it again", revive],
  up: ["it works", awaitProbation],
};

export function byTable(facts: Facts, journal: Journal): Answer {
  // At rest, the state of the process is not ours: an administrator might have stopped it.
  if (journal.phase === "resting") return rested(facts, journal);
  if (facts.kubelet === undefined) return ask;
  const state = stateOf(facts, journal);
  if (journal.phase === "restarting") {
    const [reason, rule] = restartingRow[state];
    return (state !== "dead" && unrequested(facts, journal)) || rule(facts, journal, reason);
  }
  const [reason, rule] = revivingRow[state];
  return rule(facts, journal, reason);
}

// Resting

function rested(facts: Facts, journal: Resting): Answer {
  const { contents, order, installed, runtime } = facts;
  if (isReleased(contents)) {
    const stays = installed.unseen ?? unremovable(runtime);
    return stays === undefined
      ? atOnce({ action: "leave", code: codes.withdrawn })
      : wait(codes.unsafe, soon, stays);
  }
  const asked = activeOrder(order);
  if (asked !== undefined && belongsTo(journal.content, asked)) return inForce(facts, journal);
  if (asked !== undefined && journal.failed === keyOf(asked)) return failed(asked.revision);
  const content = contentFor(order, contents);
  const isTaken = content !== undefined && (asked !== undefined || joinsAgain(journal, content));
  if (isTaken && facts.file.kind === "file") return change(facts, journal, facts.file, content);
  // The node keeps its content while the ordered content is not in the Secret.
  if (asked === undefined || journal.content.revision > 0) return inForce(facts, journal);
  return whyNoContent(facts) ?? wait(codes.otherRevision, soon);
}

/**
 * Without an order: whether the node takes the served content, because its own was only found in
 * its files and belongs to no revision.
 */
function joinsAgain({ content, failed: key }: Resting, served: Content): boolean {
  return content.revision === 0 && !isNothing(content) && !isFailureOf(key, served);
}

function failed(revision: number): Step {
  const detail = `revision ${revision}`;
  return { action: "wait", code: codes.rolledBack, detail, result: "Failed", again: resync };
}

function inForce(facts: Facts, journal: Resting): Answer {
  const { elsewhere } = facts;
  const { content } = journal;
  if (content.revision === 0) return { action: "nothing", code: codes.fit, again: resync };
  if (!hasRead(facts, journal)) {
    const remaining = rereadIn(facts, journal.written);
    const detail = `${Math.ceil(remaining / 1000)} s more`;
    return wait(codes.toBeReread, Math.min(remaining, longestWait), detail);
  }
  if (journal.hosts !== "" && !isMoved(content) && isClean(facts.runtime))
    return record(codes.inForce, { ...journal, hosts: "" }, journal);
  // Nobody has to be asked about this any more.
  if (journal.written.boot === facts.time.boot)
    return record(codes.inForce, { ...journal, written: never }, journal);
  // A kubelet that was moved to another directory does not read our file any more.
  if (elsewhere !== undefined) return refuse(codes.elsewhere, resync, elsewhere);
  const unprepared = whyUnprepared(facts);
  if (unprepared !== undefined) return unprepared;
  const note = noteOn(facts, journal);
  return {
    action: "nothing",
    code: codes.inForce,
    result: "Proved",
    again: resync,
    ...(note !== undefined && { detail: note }),
  };
}

/** What an administrator should know about content that is in force. */
function noteOn({ installed, runtime, config }: Facts, journal: Resting): string | undefined {
  if (config.scope !== undefined && !installed.asked) return notAsked;
  const { theirs, content } = journal;
  const document = documentIn(overlay(theirs, content));
  const unserved = config.isRuntime && runtime ? unservedIn(content, runtime, theirs) : undefined;
  return unserved ?? (document && rivalsIn(document, content));
}

const notAsked = "the kubelet has not run its credential provider since the node booted";
/** Milliseconds between two rounds during the wait for the reread. */
const longestWait = 10_000;

/**
 * Whether a kubelet that we did not restart has read the last write that changed something: the
 * time for a reread is over, or the node has rebooted. Another program might have started the
 * kubelet during the write.
 */
export function hasRead(facts: Facts, { written }: Pick<Journal, "written">): boolean {
  return rereadIn(facts, written) <= 0;
}

function rereadIn({ time }: Facts, written: BootTime): number {
  return written.boot === time.boot ? written.monotonic + rereadSeconds * 1000 - time.monotonic : 0;
}

// Restarting

/** After a release, nothing of ours is left to prove, so no restart is needed. */
function orLeave<J extends Journal>(rule: Rule<J>): Rule<J> {
  return (facts, journal, reason) =>
    isReleased(facts.contents)
      ? record(codes.toBeReread, resting(journal, ""), journal)
      : rule(facts, journal, reason);
}

function awaitUnit({ kubelet }: Facts, _journal: Journal, reason: string): Step {
  return unitMissing(kubelet?.unit) ?? wait(codes.systemdUnknown, fast, reason);
}

function restartOld(facts: Facts, journal: Restarting, reason: string): Step {
  return {
    action: "restart",
    again: fast,
    code: codes.restartOwed,
    detail: reason,
    unit: journal.unit,
    journal: { ...journal, asked: facts.time },
    former: journal,
    resetFirst: false,
    // The kubelet rereads the file by itself.
    refused: { ...resting(journal, ""), written: facts.time },
  };
}

/**
 * Waits, however long it takes. After four minutes the kubelet is reported as slow, or, if nothing
 * of ours is left to prove, it lives.
 */
function awaitStart(facts: Facts, journal: Restarting | Reviving, reason: string): Step {
  const { boot, monotonic } = facts.time;
  const since = Math.max(
    ...[journal.written, journal.asked].map((time) => (time.boot === boot ? time.monotonic : 0)),
    unitOf(facts)?.started ?? 0,
  );
  const isSlow = monotonic - since >= slowSeconds * 1000;
  if (isSlow && journal.phase === "reviving") return revived(facts, journal);
  if (isSlow && isReleased(facts.contents))
    return record(codes.toBeReread, resting(journal, ""), journal);
  const code = isSlow ? codes.kubeletSlow : codes.restarting;
  const { healthz } = facts.kubelet ?? {};
  const detail =
    healthz === "foreign" ? `${reason}; another user's process has the healthz port` : reason;
  return wait(code, isSlow ? soon : fast, detail);
}

/**
 * systemd or another program has started the process, or the node has rebooted. From now on,
 * systemd's restarts count. The process might have been started before the file was in place.
 */
function unrequested(facts: Facts, journal: Restarting): Step | undefined {
  const { boot } = facts.time;
  const unit = unitOf(facts);
  if (unit === undefined || unit.invocation === journal.old || journal.asked.boot === boot)
    return undefined;
  const { started, restarts } = unit;
  const written = journal.written.boot === boot ? facts.time : journal.written;
  const asked = { boot, monotonic: started };
  return record(codes.restarting, { ...journal, written, asked, restarts }, journal);
}

/**
 * How many processes with the new file have died. Each of systemd's own restarts followed a process
 * that died. systemd counts a restart when it queues the job.
 */
function deathsBy(facts: Facts, journal: Restarting): number {
  const { old, deaths, restarts, asked } = journal;
  const unit = unitOf(facts);
  // systemd forgets the process of a unit that it unloads.
  if (unit === undefined || unit.invocation === old || unit.invocation === "") return deaths;
  const isCounted = asked.boot === facts.time.boot;
  const counted = isCounted ? Math.max(0, unit.restarts - restarts) : 0;
  const isOver = !unit.busy && ["dead", "auto-restart"].includes(stateOf(facts, journal));
  return deaths + counted + (isOver ? 1 : 0);
}

/**
 * If three processes have died, the file goes back, even if systemd has started a fourth. If the
 * file cannot go back, the rule applies, so that a dead kubelet is started in any case.
 */
function unlessFailed(rule: Rule<Restarting>, deathsOf = deathsBy): Rule<Restarting> {
  return (facts, journal, reason) =>
    (deathsOf(facts, journal) >= restartAttempts ? rollBack(facts, journal) : undefined) ??
    rule(facts, journal, reason);
}

function awaitSystemd(_facts: Facts, _journal: Journal, reason: string): Step {
  return wait(codes.kubeletFailed, fast, reason);
}

function startAgain(facts: Facts, journal: Restarting, reason: string): Step {
  const old = unitOf(facts)?.invocation || journal.old;
  const next = { ...journal, old, deaths: deathsBy(facts, journal), restarts: 0 };
  const spacing = spacingAfter(facts, next.deaths - restartAttempts);
  return start(facts, next, journal, { code: codes.kubeletFailed, reason, spacing });
}

/** A process that we did not start rereads the file, if it was started before the last write. */
function awaitProbation(facts: Facts, journal: Restarting | Reviving): Step {
  const { started = 0 } = unitOf(facts) ?? {};
  if (facts.time.monotonic - started < facts.config.probation) return wait(codes.onProbation, fast);
  if (journal.phase === "reviving") return revived(facts, journal);
  return record(codes.inForce, { ...resting(journal, ""), written: unread(journal) }, journal);
}

/** The write that a living kubelet still has to read: none, if it was started after the write. */
function unread({ written, asked }: Restarting | Reviving): BootTime {
  return written.monotonic <= asked.monotonic ? never : written;
}

/** Restores the former content, and marks the order as failed. */
function rollBack({ file, blocked, time }: Facts, journal: Restarting): Step | undefined {
  const { back, order, unit, ...rest } = journal;
  const target = overlay(rest.theirs, back);
  if (file.kind !== "file" || blocked !== undefined || excessOf(target) !== undefined)
    return undefined;
  const next: Reviving = {
    version: rest.version,
    theirs: rest.theirs,
    content: back,
    written: time,
    hosts: rest.hosts,
    phase: "reviving",
    failed: order,
    unit,
    tries: 0,
    asked: never,
  };
  return atOnce({
    action: "commit",
    code: codes.notBack,
    commit: {
      journal: next,
      former: journal,
      file: target,
      expected: file.identity,
      unreadable: undefined,
    },
  });
}

// Reviving

function revive(facts: Facts, journal: Reviving, reason: string): Step {
  const { tries } = journal;
  const spacing = spacingAfter(facts, tries);
  const code = tries > 0 ? codes.stillDown : codes.restored;
  return start(facts, { ...journal, tries: tries + 1 }, journal, { code, reason, spacing });
}

/**
 * Marks an order for the same content that came during the change as failed, too. Otherwise the
 * node would at once try the content again.
 */
function revived({ order }: Facts, journal: Reviving): Step {
  const asked = activeOrder(order);
  const isAnswered = asked !== undefined && isFailureOf(journal.failed, asked);
  const failed = isAnswered ? keyOf(asked) : journal.failed;
  const written = unread(journal);
  return record(codes.rolledBack, { ...resting(journal, failed), written }, journal);
}

/** The longest pause, in milliseconds, before a dead kubelet is started again. */
const longestRevival = 900_000;

/** Used for a unit without a start limit: systemd's default is five starts in 10 s. */
const defaultStartLimit = 10_000;

/**
 * Milliseconds between our requests, so that they do not exhaust the unit's start limit. `tries`:
 * how often a kubelet with a file that stays was started; from then on the pause doubles.
 */
function spacingAfter(facts: Facts, tries: number): number {
  const spacing = Math.min(spacingSeconds * 1000, unitOf(facts)?.startLimit || defaultStartLimit);
  return Math.min(longestRevival, spacing * 2 ** Math.max(0, Math.min(tries, 10)));
}

/** Starts a dead kubelet, once `spacing` milliseconds have passed since the last request. */
function start(
  { time }: Facts,
  next: Restarting | Reviving,
  former: Restarting | Reviving,
  { code, reason, spacing }: Readonly<{ code: Step["code"]; reason: string; spacing: number }>,
): Step {
  const { boot, monotonic } = former.asked;
  const remaining = boot === time.boot ? monotonic + spacing - time.monotonic : 0;
  if (remaining > 0) return wait(code, Math.min(remaining, soon), reason);
  return atOnce({
    action: "restart",
    code,
    detail: reason,
    unit: next.unit,
    journal: { ...next, asked: time },
    former,
    resetFirst: true,
    refused: undefined,
  });
}
