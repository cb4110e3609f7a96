/**
 * Decides the agent's next action. Pure. Returns one action with its reason, or requests more
 * facts. Each rule requests only what it needs.
 *
 * The rules form a chain: each rule decides, or leaves the case to the next rule. The first rules
 * handle due restarts, the next rules handle config.json, and the last rules the mounted document.
 * Writing config.json is decided in change.ts. Everything after the write is a table in restart.ts.
 */
import { belongsTo } from "#contract/order.ts";
import {
  change,
  emptyAlone,
  isQuarantined,
  isUnrestartable,
  preflight,
  quarantined,
  restoring,
  startJournal,
  startMeanwhile,
  unreadable,
  preflightUnasked,
} from "./change.ts";
import { unitRecord, withUnit, isOutOfReach, stateOf } from "../facts/kubelet-state.ts";
import type { Facts } from "../facts/facts.ts";
import { isIdle, type Journal, confirmed, type File } from "../journal/journal.ts";
import type { Document, Mounted } from "../delivery/mount.ts";
import { byTable, idleAs, isAwaitingReread } from "./restart.ts";
import { type FoundFile, type Plan, isFound } from "../delivery/delivery.ts";
import { activeOrder, documentToApply, isEmpty, isVoid } from "../facts/order.ts";
import { removal } from "./removal.ts";
import {
  type Answer,
  ask,
  atOnce,
  fast,
  named,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
  codes,
} from "../facts/step.ts";

export function decide(facts: Facts): Answer {
  const { file, mounted } = facts;
  if (!facts.alone) return wait(codes.otherAgent, soon);
  if (facts.journal.kind === "newer") return withNewerJournal(facts, facts.journal);
  if (facts.journal.kind === "corrupt")
    return atOnce({
      action: "set aside",
      code: codes.journalUnreadable,
      detail: facts.journal.why,
    });
  const journal =
    facts.journal.kind === "journal" ? withUnit(facts.journal.journal, facts.unit) : undefined;
  if (facts.vanished && journal !== undefined) return record(codes.journalVanished, journal);
  if (!isIdle(journal) && facts.unit === undefined) return ask("kubelet");
  if (journal?.phase === "reviving") return byTable(facts, journal);
  const mayEmpty = !isFound(file) && file.answer?.empty !== undefined;
  // A rollback needs no document, and with the largest files, there is no memory for a document.
  if (journal?.phase === "restoring" && !mayEmpty) return restoring(facts, journal, file);
  if (mounted === undefined) return ask("mounted");
  // The node keeps its content while the ordered content is not in the Secret.
  if (journal !== undefined && !isEmpty(journal) && isVoid(facts))
    return decide({ ...facts, order: "none" });
  const document = documentToApply(facts, journal);
  const isWithdrawn = document?.intent === "release";
  const emptied = mayEmpty && isWithdrawn ? emptyAlone(facts, journal) : undefined;
  if (emptied !== undefined) return emptied;
  if (journal?.phase === "restoring") return restoring(facts, journal, file);
  if (isEmpty(journal) && !facts.lost) return withoutContent(facts);
  if (isWithdrawn && isUntouched(facts)) return untouched(facts, document);
  if (!isFound(file)) return unreadable(facts, journal, file);
  // A withdrawal does not wait until systemd can be reached for a restart.
  const isUrgent = isWithdrawn && isOutOfReach(facts);
  if (journal !== undefined && !isUrgent && finishesFirst(facts, journal, file, isWithdrawn))
    return byTable(facts, journal);
  const removed = isWithdrawn ? undefined : removal(facts, journal, file);
  if (removed !== undefined) return removed;
  const isAsked = isWithdrawn || activeOrder(facts.order) !== undefined;
  const answer = isAsked ? undefined : withoutOrder(facts, journal, file, document);
  if (answer !== undefined) return answer;
  if (document === undefined) return withoutDocument(facts, mounted, journal, file);
  if (isQuarantined(facts, journal, document)) return quarantined(journal);
  const planned = file.plan(journal, document, facts.lost);
  if (planned.changed) return change(facts, journal, file, document, planned);
  return asPlanned(facts, journal, file, document, planned);
}

/**
 * Handles a withdrawal on a node that has none of our entries, whatever the state of config.json
 * and the kubelet. Removes what an interrupted withdrawal left behind.
 */
function untouched(facts: Facts, document: Document): Answer {
  const { leftovers, file } = facts;
  const emptied = emptying(facts, document);
  if (emptied !== undefined) return emptied;
  if (leftovers) return leave;
  // The kubelet uses another directory, which might still have our entries.
  if (facts.elsewhere !== undefined) return wait(codes.elsewhere, resync, facts.elsewhere);
  const unseen = whyUnseen(facts);
  if (unseen !== undefined) return unseen;
  const detail = "note" in file ? file.note : undefined;
  return {
    action: "nothing",
    code: codes.withdrawn,
    result: "Removed",
    again: resync,
    ...(detail && { detail }),
  };
}

/**
 * Waits if the provider's answer might be ours and we cannot read it, because the kubelet might
 * still use it.
 */
function whyUnseen({ file, noAnswer }: Facts): Step | undefined {
  const why = noAnswer ? undefined : file.answer?.unseen;
  return why === undefined ? undefined : wait(codes.unsafe, soon, why);
}

/**
 * Empties the provider's answer for a withdrawal, whatever the journal contains, because only we
 * write the answer; undefined if the answer is empty.
 */
function emptying(facts: Facts, document: Document): Answer | undefined {
  const { file } = facts;
  if (!isFound(file)) return undefined;
  const planned = file.plan(undefined, document, false);
  return planned.changed ? change(facts, undefined, file, document, planned) : undefined;
}

function isUntouched({ journal, lost }: Facts): boolean {
  return journal.kind === "none" && !lost;
}

/**
 * The journal is from a newer agent. We write nothing, but start a kubelet that the newer agent
 * left stopped.
 */
function withNewerJournal(
  facts: Facts,
  { why, owes }: Extract<Facts["journal"], { kind: "newer" }>,
): Answer {
  const mayStart = owes && facts.config.restart === "Always";
  if (mayStart && facts.unit === undefined) return ask("kubelet");
  const down = mayStart && stateOf(facts, { phase: "reviving" }) === "down";
  if (!down) return (owes ? wait : refuse)(codes.newerJournal, resync, why);
  if (facts.sinceRestart < 60_000) return wait(codes.newerJournal, soon, why);
  const { unit } = unitRecord(facts);
  if (unit === undefined) return wait(codes.newerJournal, soon, why);
  return {
    action: "revive",
    code: codes.newerJournal,
    detail: `${why}; ${unit} is down`,
    again: fast,
    unit,
  };
}

/**
 * The document to apply is not mounted. The agent begins no change, but makes a restart that is
 * due.
 */
function withoutDocument(
  facts: Facts,
  mounted: Mounted,
  journal: Journal | undefined,
  file: FoundFile,
): Answer {
  const holds = journal !== undefined && file.holds(journal.owned);
  if (journal?.phase === "applying" && holds) return byTable(facts, journal);
  if (journal?.phase === "restarting" || journal?.phase === "settling")
    return byTable(facts, journal);
  if (journal?.phase === "applied" && belongsTo(journal, facts.order) && holds)
    return byTable(facts, journal);
  return startMeanwhile(facts, journal, whyNoDocument(facts, mounted));
}

function whyNoDocument({ order }: Facts, mounted: Mounted): Step {
  if (mounted.kind === "incomplete") return wait(codes.incomplete, soon, mounted.why);
  if (mounted.kind === "refused") return wait(codes.secretRefused, resync, mounted.why);
  if (mounted.kind === "nothing") return wait(codes.otherRevision, resync);
  const asked = activeOrder(order)?.revision;
  const why = mounted.kind === "other" ? mounted.why : undefined;
  const detail = `published ${mounted.revision}, ordered ${asked ?? "nothing"}`;
  return wait(codes.otherRevision, resync, why === undefined ? detail : `${detail}, ${why}`);
}

/**
 * The node has no content, and takes no content without an order. With an order, it acts like a
 * node without a journal.
 */
function withoutContent(facts: Facts): Answer {
  const document = documentToApply(facts, undefined);
  if (document?.intent === "release") return emptying(facts, document) ?? whyUnseen(facts) ?? leave;
  if (activeOrder(facts.order) === undefined) return awaitOrder(facts);
  const answer = decide({ ...facts, journal: { kind: "none" }, leftovers: false });
  if (answer.action !== "apply" || facts.journal.kind !== "journal") return answer;
  return { ...answer, former: { journal: facts.journal.journal } };
}

/** config.json already has the planned content. */
function asPlanned(
  facts: Facts,
  recordedJournal: Journal | undefined,
  file: FoundFile,
  document: Document,
  planned: Plan,
): Answer {
  if (recordedJournal === undefined) return withoutJournal(facts, file, document, planned);
  const journal = document.intent === "release" ? withoutUndo(recordedJournal) : recordedJournal;
  const current = named(planned, document);
  if (document.intent === "release" && isUnrestartable(facts, journal))
    return record(codes.toBeReread, confirmed({ ...journal, ...current }));
  // The file is in place. Entries that the file lacks are not ours any more.
  if (journal.phase === "applying") return byTable(facts, { ...journal, ...current });
  const { owned, revision, digest, content } = journal;
  if (JSON.stringify(current) !== JSON.stringify({ owned, revision, digest, content }))
    return record(codes.toBeWritten, { ...journal, ...current });
  if (journal.phase === "applied" && document.intent === "release") {
    const doubt = journal.unverified === true && facts.lost && file.isUnexplained(document);
    return doubt ? unverified : (whyUnseen(facts) ?? leave);
  }
  return byTable(facts, journal);
}

/**
 * Removes the undo for a withdrawal, because the undo contains the withdrawn credentials. `change`
 * does so too, but does not run if another program has already written what we planned.
 */
function withoutUndo({ undo: _undo, ...journal }: Journal): Journal {
  return journal;
}

/** config.json already has the planned content, and no journal records entries of ours. */
function withoutJournal(facts: Facts, file: FoundFile, document: Document, planned: Plan): Answer {
  if (document.intent === "release" && file.isUnexplained(document)) return unverified;
  if (document.intent === "apply" && facts.elsewhere !== undefined)
    return refuse(codes.elsewhere, resync, facts.elsewhere);
  const first = { ...startJournal(facts, planned.before), ...named(planned, document) };
  if (!facts.lost) return record(codes.toBeWritten, first);
  // The lost journal might have recorded a restart that was due, and more entries of ours than we
  // recognize.
  const isKnown = "absent" in planned.before && file.answer?.unseen === undefined;
  return (
    preflight(facts) ??
    record(codes.toBeWritten, {
      ...first,
      unverified: !isKnown,
      ...unitRecord(facts),
      phase: "applying",
      matters: true,
    })
  );
}

const leave: Step = atOnce({ action: "leave", code: codes.withdrawn });

/**
 * The agent finds nothing to withdraw, but an entry in the file might be ours. Therefore, the agent
 * must not report a completed withdrawal.
 */
const unverified = wait(codes.withdrawnInDoubt, soon);

/**
 * Whether the agent must finish the change under way before it handles a release or the present
 * order, because the changed file is in place and the kubelet might be down. With --restart Never,
 * newer content can replace the change at once.
 */
function finishesFirst(
  { config, order }: Facts,
  journal: Journal,
  file: FoundFile,
  isWithdrawn: boolean,
): boolean {
  if (isIdle(journal) || config.restart === "Never" || isAwaitingReread(journal)) return false;
  return (isWithdrawn || !belongsTo(journal, order)) && file.holds(journal.owned);
}

/**
 * Handles a node without an order. With a journal, the node keeps what it has. Without a journal,
 * it takes the served content. If nothing is served, or if it has answered an order without taking
 * the content, it records that it takes nothing without an order. Undefined if `document` is to be
 * applied.
 */
function withoutOrder(
  facts: Facts,
  journal: Journal | undefined,
  file: FoundFile,
  document: Document | undefined,
): Answer | undefined {
  if (journal !== undefined && !isIdle(journal)) {
    if (facts.order === "unknown") return undefined;
    if (isAbandoned(journal, file, document)) return abandon(journal, journal.undo);
    // Served content does not replace a change that began for an order.
    const isOther = document !== undefined && !belongsTo(journal, document);
    const goesOn =
      document === undefined ? journal.phase === "applying" : isOther && wasAsked(journal);
    return goesOn ? byTable(facts, journal) : undefined;
  }
  if (journal !== undefined && !(document !== undefined && failedUnasked(journal)))
    return keepContent(facts, journal, file, document);
  const { order, mounted } = facts;
  const isForOthers = order === "answered" && mounted?.kind === "document";
  if (mounted?.kind === "nothing" || isForOthers) return nothingServed(facts, file);
  return undefined;
}

/** Whether the change began for an order. */
function wasAsked({ grant }: Journal): boolean {
  return grant !== undefined;
}

type Undo = NonNullable<Journal["undo"]>;

/**
 * Whether the order disappeared before the new file was in place, and no restart is due. Only the
 * exact file from before the change proves this. A missing entry proves nothing, because the new
 * file might also lack entries that the journal still lists.
 */
function isAbandoned(
  journal: Journal,
  file: FoundFile,
  document: Document | undefined,
): journal is Journal & { undo: Undo } {
  const { phase, owned, owed, undo } = journal;
  if (phase !== "applying" || owed !== undefined || undo === undefined) return false;
  const isBefore = isSame(undo.file, file.now) && !file.holds(owned);
  return isBefore && (document === undefined || wasAsked(journal));
}

function isSame(file: File, other: File): boolean {
  if ("absent" in file || "absent" in other) return "absent" in file && "absent" in other;
  return file.bytes.equals(other.bytes);
}

/**
 * Records the journal from before the change. If the change already wrote the provider's answer,
 * the answer stays listed as ours.
 */
function abandon(journal: Journal, undo: Undo): Step {
  const { revision, digest, content } = undo;
  const isBeside = journal.owned.answer !== undefined;
  const owned = isBeside ? journal.owned : undo.owned;
  return record(codes.inForce, { ...confirmed(journal), revision, digest, content, owned });
}

/** Whether served content failed on a node without content. The agent later tries it again. */
function failedUnasked({ revision, content, quarantine }: Journal): boolean {
  return revision === 0 && content === "" && quarantine !== undefined && !quarantine.grant;
}

/**
 * The node keeps its content. Undefined if the Secret still contains this content, so that the next
 * rules repair a drift.
 */
function keepContent(
  facts: Facts,
  journal: Journal,
  file: FoundFile,
  document: Document | undefined,
): Answer | undefined {
  if (document?.revision === journal.revision && document.digest === journal.digest)
    return undefined;
  if (!file.holds(journal.owned)) return idleAs(facts, journal, codes.keptDrifted);
  return idleAs(facts, journal, journal.revision > 0 ? codes.inForce : codes.fit);
}

/** The node has nothing of ours and waits for an order. */
function awaitOrder(facts: Facts): Answer {
  if (facts.healthy === undefined) return ask("healthz");
  if (!facts.healthy) return refuse(codes.kubeletSilent, soon);
  return { action: "nothing", code: codes.fit, again: resync };
}

function nothingServed(facts: Facts, file: FoundFile): Answer {
  const unfit = preflightUnasked(facts);
  if (unfit !== undefined) return unfit;
  return record(codes.fit, startJournal(facts, file.now));
}
