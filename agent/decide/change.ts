/**
 * Decides how the agent changes config.json. Pure. Decides whether the node is fit, whether content
 * that failed before must wait, and what the journal records before the write. While the agent
 * cannot write the file, decides whether the agent restarts the kubelet.
 */
import { belongsTo } from "#contract/order.ts";
import {
  unitRecord,
  unitMissing,
  isOutOfReach,
  stateOf,
  isRunning,
  unitOf,
} from "../facts/kubelet-state.ts";
import type { Facts } from "../facts/facts.ts";
import { activeOrder, orderKey } from "../facts/order.ts";
import {
  type File,
  restartsWithin,
  firstJournal,
  isIdle,
  type Journal,
} from "../journal/journal.ts";
import { byTable } from "./restart.ts";
import { type FoundFile, isFound, type Plan } from "../delivery/delivery.ts";
import type { Document } from "../delivery/mount.ts";
import {
  type Answer,
  ask,
  atOnce,
  named,
  refuse,
  soon,
  type Step,
  wait,
  type Code,
  codes,
  fast,
  resync,
} from "../facts/step.ts";
import { auto } from "#contract/values.ts";

/**
 * The step towards writing config.json: a request for facts, the reason to wait, or `apply`. If the
 * kubelet cannot parse the present file, we wait 2 s, because another program might still be
 * writing it.
 */
export function change(
  facts: Facts,
  recordedJournal: Journal | undefined,
  file: FoundFile,
  document: Document,
  planned: Plan,
): Answer {
  const journal = recordedJournal ?? startJournal(facts, planned.before);
  if (file.invalid !== undefined && facts.stopwatch.file < 2000)
    return wait(codes.unreadable, 500, file.invalid);
  if (facts.unit === undefined) return ask("kubelet");
  const same = journal.content === document.content;
  const drift = same && journal.phase === "applied";
  const hasStarted = same && isStarted(facts, journal);
  const repairs = drift || (same && isRepairing(journal));
  const withdraws = document.intent === "release";
  const isOnItsOwn = withdraws && isUnrestartable(facts, journal);
  const rereads = !withdraws && isLeftToKubelet(facts, journal, planned, repairs, hasStarted);
  // A withdrawal makes no restart due: the kubelet rereads its file within five minutes.
  const matters = planned.matters && !rereads && !withdraws;
  // We remove withdrawn credentials even from an unfit node.
  const unfit =
    withdraws || (drift && !matters)
      ? undefined
      : isIdle(journal)
        ? preflight(facts)
        : unitMissingFor(facts, journal, matters);
  if (unfit !== undefined) return unfit;
  const unable = (why: Code, detail: string): Answer =>
    startMeanwhile(
      facts,
      recordedJournal,
      (isIdle(recordedJournal) ? refuse : wait)(why, soon, detail),
    );
  // The planned file is too large: after the write, we could neither read it nor remove our
  // entries.
  if (planned.excess !== undefined)
    return (
      (withdraws ? emptyAlone(facts, recordedJournal) : undefined) ??
      unable(codes.unsafe, `it would have ${planned.excess}`)
    );
  const code = drift && !file.holds(journal.owned) ? codes.drifted : codes.toBeWritten;
  if (planned.unfit !== undefined) return unable(codes.providerUnfit, planned.unfit);
  // Another program keeps changing the file. We pause between our writes.
  if (same && facts.writeIn > 0) {
    // The kubelet still has all of our entries. For example, only the file's mode is wrong.
    const isWhole = drift && !withdraws && !planned.matters && file.holds(journal.owned);
    return isWhole ? waitInForce(facts, journal) : wait(code, facts.writeIn);
  }
  const undo = undoOf(journal, file, document, drift);
  const { fileMode } = planned;
  const { undo: _undo, renamed, rereads: _rereads, left: _left, ...others } = journal;
  const { quarantine, grant: _grant, denied, owed, ...rest } = others;
  const key = orderKey(facts.order);
  const next: Journal = {
    ...rest,
    ...named(planned, document),
    owned: planned.meanwhile,
    ...unitRecord(facts),
    phase: "applying",
    matters: !isOnItsOwn && ((journal.phase === "applying" && journal.matters) || matters),
    ...(owed !== undefined && !isOnItsOwn && { owed }),
    // New content starts a new count of attempts. An attempt does not count if the process that it
    // started is running.
    ...(!same && { tried: 0, called: false }),
    ...(same && denied !== undefined && { denied }),
    ...(hasStarted && matters && { tried: Math.max(0, journal.tried - 1), called: false }),
    ...(undo !== undefined && { undo }),
    ...(fileMode !== undefined && { left: fileMode }),
    ...(key !== undefined && { grant: key }),
    // The agent might still be waiting until the kubelet has reread an earlier file. This wait
    // continues. If this change gives the kubelet more to reread, the wait starts again.
    ...(renamed !== undefined && !matters && !rereads && { renamed }),
    ...(rereads && { rereads: "" }),
    ...(!rereads && !matters && journal.rereads !== undefined && { rereads: journal.rereads }),
    // Once this change begins, the agent does not report an earlier rollback any more.
    ...(quarantine !== undefined && { quarantine: { ...quarantine, told: true } }),
  };
  // `former`: the journal to restore if the system forbids the write. If a withdrawal finds no
  // journal, it sets no `former`, because only the new journal records the entries that are not
  // removed yet.
  const isKept = isIdle(recordedJournal) && (recordedJournal !== undefined || !withdraws);
  const former = isKept && { former: { journal: recordedJournal } };
  const apply: Step = atOnce({
    action: "apply",
    code,
    journal: next,
    plan: planned,
    file,
    ...former,
  });
  return facts.unwritable ? startMeanwhile(facts, recordedJournal, apply) : apply;
}

/**
 * Whether the restart of the change under way is due, but systemd cannot be reached, and the
 * kubelet answers. A kubelet that does not answer might have been stopped by that change, and needs
 * the restart.
 */
export function isUnrestartable(facts: Facts, journal: Journal): boolean {
  const owes = journal.matters || journal.owed !== undefined;
  const isOwed = owes && !isIdle(journal) && facts.config.restart === "Always";
  return isOwed && isOutOfReach(facts) && facts.healthy === true;
}

/** Keeps the content in force until the pause between two writes is over. */
function waitInForce(facts: Facts, journal: Journal): Answer {
  const answer = byTable(facts, journal);
  if (answer.action !== "nothing") return answer;
  return { ...answer, again: facts.writeIn };
}

/**
 * A new journal for this node, marked `unverified` if an earlier journal was lost: an unreadable
 * one, or one that listed an answer of the credential provider. Only we write an answer.
 */
export function startJournal({ lost, noAnswer, file }: Facts, before: File): Journal {
  const isFirst = !lost && noAnswer && file.answer?.empty === undefined;
  return { ...firstJournal(before), ...(!isFirst && { unverified: true }) };
}

/**
 * Why a change under way must not write its file once more: the change needs a restart, but systemd
 * does not report the unit. A stopped unit is not a reason.
 */
function unitMissingFor(facts: Facts, journal: Journal, matters: boolean): Step | undefined {
  const owes = matters || journal.matters || journal.owed !== undefined;
  return owes && facts.config.restart === "Always" ? unitMissing(facts) : undefined;
}

/**
 * Whether the process that was started for this content is running. If so, a change of the file by
 * another program is a drift, not a failed start.
 */
function isStarted(facts: Facts, journal: Journal): boolean {
  const isProving = journal.phase === "restarting" || journal.phase === "settling";
  return isProving && ["silent", "answering"].includes(stateOf(facts, journal));
}

/**
 * Whether the change under way is an unfinished repair of a drift: the agent was interrupted, or
 * another program wrote the file first. A repair has no undo, because it adds nothing new.
 */
function isRepairing({ phase, undo, matters, owed }: Journal): boolean {
  return phase === "applying" && undo === undefined && !matters && owed === undefined;
}

/**
 * Whether we let the kubelet reread the file without a restart. We do so after a drift, unless
 * there is a new order. During a change, we do so if the kubelet runs and we restarted it three
 * times within an hour. Without this limit, another program that keeps removing our entries would
 * cause endless restarts.
 */
function isLeftToKubelet(
  facts: Facts,
  journal: Journal,
  { matters }: Plan,
  repairs: boolean,
  lives: boolean,
): boolean {
  if (!matters || facts.config.restart !== "Always") return false;
  if (repairs) return activeOrder(facts.order) === undefined || belongsTo(journal, facts.order);
  return lives && restartsWithin(journal, facts.now, 3_600_000) >= 3;
}

/**
 * The target of a rollback. A repaired drift has no target, because its content is already proved.
 * A withdrawal has no target either, because a rollback would restore the credentials, and a
 * missing entry does not stop a kubelet from starting.
 */
function undoOf(
  journal: Journal,
  file: FoundFile,
  document: Document,
  drift: boolean,
): Journal["undo"] {
  if (drift || document.intent === "release") return undefined;
  if (journal.phase !== "applied") return journal.undo;
  const { owned, revision, digest, content } = journal;
  return { file: file.now, owned, revision, digest, content };
}

/**
 * Returns the first reason not to touch the node, as a step; undefined if the node is fit. Runs
 * before each change, and also before the first record on a node, so that unfit nodes are known
 * early.
 *
 * Without this check, only a restart would reveal the reason. If healthz is off or on another port,
 * we would restart the kubelet again and again, because it never answers. If the unit is dead while
 * our container runs, it is not the kubelet's unit, or an administrator stopped it. We must not
 * start such a unit.
 */
export function preflight(facts: Facts): Answer | undefined {
  const { journal, file } = facts;
  if (journal.kind === "newer") return refuse(codes.newerJournal, resync, journal.why);
  if (facts.elsewhere !== undefined) return refuse(codes.elsewhere, resync, facts.elsewhere);
  if (file.kind === "changing") return wait(codes.changedMeanwhile, fast);
  if (file.kind === "refused") return refuse(codes.unsafe, soon, file.why);
  if (facts.unit === undefined) return ask("kubelet");
  return kubeletUnfit(facts);
}

/**
 * The preflight of a node without an order. This node must also meet the requirements of the
 * delivery.
 */
export function preflightUnasked(facts: Facts): Answer | undefined {
  return preflight(facts) ?? deliveryUnfit(facts);
}

function kubeletUnfit(facts: Facts): Step | undefined {
  const { unit, config } = facts;
  // With --restart Never, we do not ask systemd. With --restart Always, the unit must run, even if
  // --restart-control-plane Never forbids its restart.
  if (unit === undefined || !("notAsked" in unit)) {
    const missing = unitMissing(facts);
    if (missing !== undefined) return refuse(missing.code, missing.again, missing.detail);
  }
  const whole = unitOf(facts);
  if (whole !== undefined && !isRunning(whole))
    return refuse(codes.unitNotRunning, soon, `${whole.name} is ${whole.active}/${whole.sub}`);
  if (whole?.refuses === true)
    return refuse(
      codes.restartRefused,
      soon,
      `${whole.name} sets RefuseManualStart or RefuseManualStop`,
    );
  if (!facts.healthy) {
    const { healthzAddress: address, healthzPort } = config;
    const asked = address === auto ? "127.0.0.1 and ::1" : address;
    return refuse(codes.kubeletSilent, soon, `${asked}, port ${healthzPort}`);
  }
  return undefined;
}

/** Refuses if something that the kubelet needs besides our files is missing or wrong. */
function deliveryUnfit({ file }: Facts): Step | undefined {
  const unfit = "unfit" in file ? file.unfit : undefined;
  return unfit === undefined ? undefined : refuse(codes.providerUnfit, soon, unfit);
}

/**
 * The next step while config.json cannot be read or replaced. The agent still makes a due restart.
 */
export function unreadable(facts: Facts, journal: Journal | undefined, file: Unreadable): Answer {
  const { mounted } = facts;
  const isWithdrawn = mounted?.kind === "document" && mounted.intent === "release";
  const isRefused = file.kind !== "changing" && (isWithdrawn || isIdle(journal));
  const why = isRefused ? refuse(codes.unsafe, soon, file.why) : whyUnreadable(file);
  if (journal === undefined || isIdle(journal)) return why;
  return owedRestart(facts, journal) ?? why;
}

/** The next step of a restart that is due; undefined if none is due. */
function owedRestart(facts: Facts, journal: Journal): Answer | undefined {
  if (journal.phase !== "applying") return byTable(facts, journal);
  // If `owed` is set, the agent is writing the file again between two restart attempts, and the
  // kubelet might be down.
  if (journal.owed === undefined) return undefined;
  return byTable(facts, { ...journal, phase: "restarting" });
}

/**
 * The next step while config.json must not be written. If the kubelet is down and a restart is due,
 * the step restarts the kubelet with the current file, because a blocked write must not keep it
 * down. In all other cases, the step is `otherwise`.
 */
export function startMeanwhile(
  facts: Facts,
  journal: Journal | undefined,
  otherwise: Step,
): Answer {
  if (journal === undefined || isIdle(journal)) return otherwise;
  if (facts.config.restart === "Never") return otherwise;
  const step = stateOf(facts, journal) === "down" ? owedRestart(facts, journal) : undefined;
  return step === undefined || step.action === "wait" ? otherwise : step;
}

/**
 * Empties only the provider's answer, while a withdrawal cannot read or write config.json;
 * undefined if the answer has no credential. The journal stays as it is, because the withdrawal is
 * not complete.
 */
export function emptyAlone(facts: Facts, journal: Journal | undefined): Answer | undefined {
  const last = facts.file.answer?.empty;
  if (last === undefined) return undefined;
  const plan = { changed: true, keepsConfig: true, file: { absent: true }, last } as const;
  // If there is no journal and none was lost, `clean` creates our folder to stage the file, and
  // then removes the folder.
  const action = journal === undefined && !facts.lost ? "clean" : "restore";
  const file = { identity: "absent" };
  const step: Step = atOnce({ action, code: codes.toBeWritten, plan, file });
  const next = facts.writeIn > 0 ? wait(codes.toBeWritten, facts.writeIn) : step;
  if (next === step && !facts.unwritable) return step;
  return journal?.phase === "restoring"
    ? reviveMeanwhile(facts, journal, next)
    : startMeanwhile(facts, journal, next);
}

type Unreadable = Exclude<Facts["file"], FoundFile>;

function whyUnreadable(file: Unreadable): Step {
  return file.kind === "changing"
    ? wait(codes.changedMeanwhile, fast)
    : wait(codes.unsafe, soon, file.why);
}

/** Starts the kubelet with the current file while the previous file cannot be restored. */
function reviveMeanwhile(facts: Facts, journal: Journal, otherwise: Step): Answer {
  if (facts.config.restart === "Never") return otherwise;
  const step = byTable(facts, { ...journal, phase: "reviving" });
  if (step.action !== "restart") return otherwise;
  return { ...step, journal: { ...step.journal, phase: "restoring" }, unasked: journal };
}

/**
 * Restores the previous file. While that is impossible, starts the kubelet with the current file.
 */
export function restoring(facts: Facts, journal: Journal, file: Facts["file"]): Answer {
  if (!isFound(file)) return reviveMeanwhile(facts, journal, whyUnreadable(file));
  const planned = file.planRestore(journal);
  if (!planned.changed) return byTable(facts, journal);
  const restore: Step = atOnce({ action: "restore", code: codes.notBack, plan: planned, file });
  return facts.unwritable ? reviveMeanwhile(facts, journal, restore) : restore;
}

/**
 * We restart a failing kubelet at most four times an hour. A retry needs two restarts: its own and
 * the rollback's.
 */
const restartsPerHour = 4;

/**
 * Whether content that failed before must wait. A failed order is not tried again. The agent tries
 * a new order at once. Without an order, it tries another revision at once.
 */
export function isQuarantined(
  facts: Facts,
  journal: Journal | undefined,
  { revision, content }: Document,
): journal is Journal & { quarantine: NonNullable<Journal["quarantine"]> } {
  const quarantine = journal?.quarantine;
  const key = orderKey(facts.order);
  if (key !== undefined) return journal?.phase === "applied" && quarantine?.grant === key;
  if (quarantine?.content !== content || quarantine.revision !== revision) return false;
  // In any other phase, the agent is already trying the content again.
  if (journal?.phase !== "applied") return false;
  return !isOver(facts, journal, quarantine);
}

/** Reports the failed order, or waits until the content may be tried again without an order. */
export function quarantined({
  quarantine,
}: Readonly<{ quarantine: NonNullable<Journal["quarantine"]> }>): Step {
  const { revision, failures, why, grant: key } = quarantine;
  const reason = why === undefined ? "" : `, systemd refused the restart: ${why}`;
  const failure = `revision ${revision}, failure ${failures}${reason}`;
  if (key !== undefined)
    return {
      action: "wait",
      code: codes.rolledBack,
      detail: failure,
      result: "Failed",
      again: resync,
    };
  const until = new Date(quarantine.since + quarantine.lasts).toISOString();
  return wait(codes.quarantined, 10_000, `${failure}, until ${until}`);
}

function isOver(
  facts: Facts,
  journal: Journal,
  { since, lasts }: NonNullable<Journal["quarantine"]>,
): boolean {
  // Also uses the time that this process measured, because a clock that was set back would prolong
  // the quarantine.
  const over = facts.now - since >= lasts || facts.stopwatch.quarantine >= lasts;
  return over && restartsWithin(journal, facts.now, 3_600_000) <= restartsPerHour - 2;
}
