/**
 * Decides the agent's next action. Pure. Returns one action with its reason, or requests more
 * facts. Each rule requests only what it needs.
 *
 * The rules form a chain: each rule decides, or leaves the case to the next rule. The first rules
 * handle due restarts, the next rules handle config.json, and the last rules the mounted document.
 * Writing config.json is decided in change.ts. Everything after the write is a table in restart.ts.
 */
import {
  change,
  emptyAlone,
  isQuarantined,
  preflight,
  quarantined,
  restoring,
  startJournal,
  startMeanwhile,
  unreadable,
  preflightUngranted,
} from "./change.ts";
import { unitRecord, withUnit, isOutOfReach, stateOf } from "../facts/kubelet-state.ts";
import type { Facts } from "../facts/facts.ts";
import { isIdle, type Journal, unproved, confirmed, type File } from "../journal/journal.ts";
import type { Document, Mounted } from "../delivery/mount.ts";
import { byTable, awaitRepaired, idleAs, isAwaitingReread } from "./restart.ts";
import { type FoundFile, type Plan, isFound } from "../delivery/delivery.ts";
import {
  granted,
  grantedKey,
  grantedRevision,
  isEmpty,
  belongsTo,
  documentToApply,
} from "../facts/grant.ts";
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
  waitAndReport,
  wait,
  codes,
} from "../facts/step.ts";

export function decide(facts: Facts): Answer {
  return withReadiness(facts, chain(facts));
}

function chain(facts: Facts): Answer {
  const { file, mounted, grant } = facts;
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
  const document = documentToApply(facts);
  const emptied =
    mayEmpty && isWithdrawn(facts, journal, document) ? emptyAlone(facts, journal) : undefined;
  if (emptied !== undefined) return emptied;
  if (journal?.phase === "restoring") return restoring(facts, journal, file);
  if (isEmpty(journal) && !facts.lost) return withoutContent(facts);
  if (document?.intent === "release" && isUntouched(facts)) return untouched(facts, document);
  if (!isFound(file)) return unreadable(facts, journal, file);
  // A withdrawal does not wait until systemd can be reached for a restart.
  const isUrgent = document?.intent === "release" && isOutOfReach(facts);
  if (journal !== undefined && !isUrgent && finishesFirst(facts, journal, file))
    return { ...byTable(facts, journal), ready: false };
  const refusal = rejectGrant(facts, journal);
  if (refusal !== undefined) return refusal;
  const answer =
    grantedRevision(grant) === 0 ? withoutGrant(facts, journal, file, document) : undefined;
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
    ready: true,
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

/** Whether the document withdraws this node's content. */
function isWithdrawn(
  facts: Facts,
  journal: Journal | undefined,
  document: Document | undefined,
): boolean {
  if (document?.intent !== "release") return false;
  if (journal === undefined) return true;
  // A withdrawal is never served, so a node with content needs a grant for it.
  return granted(facts.grant) !== undefined && rejectGrant(facts, journal) === undefined;
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
  if (!down) return { ...wait(codes.newerJournal, resync, why), ...(!owes && { refused: true }) };
  if (facts.sinceRestart < 60_000) return wait(codes.newerJournal, soon, why);
  const { unit } = unitRecord(facts);
  if (unit === undefined) return wait(codes.newerJournal, soon, why);
  return {
    action: "revive",
    code: codes.newerJournal,
    detail: `${why}; ${unit} is down`,
    ready: false,
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
  if (journal?.phase === "restarting" || journal?.phase === "settling") {
    const step = byTable(facts, journal);
    return holds ? step : { ...step, ready: false };
  }
  if (journal?.phase === "applied" && belongsTo(journal, facts.grant) && holds)
    return byTable(facts, journal);
  // The node has confirmed the release, and newer content is mounted. Like a node with older
  // content in force, this node waits for a new grant.
  if (isUntouched(facts) && !facts.leftovers && isOutdated(facts, mounted))
    return awaitGrant(facts);
  return startMeanwhile(facts, journal, whyNoDocument(facts, mounted));
}

/** Whether the grant was proved, and all mounted content is newer. */
function isOutdated({ grant, proved }: Facts, mounted: Mounted): boolean {
  const isOlder = mounted.kind === "other" && mounted.revision > grantedRevision(grant);
  return isOlder && proved === grantedKey(grant);
}

function whyNoDocument({ grant }: Facts, mounted: Mounted): Step {
  if (mounted.kind === "incomplete") return wait(codes.incomplete, soon, mounted.why);
  if (mounted.kind === "nothing") return wait(codes.otherRevision, soon);
  const granted = grantedRevision(grant);
  if (granted > 0 && mounted.revision !== granted)
    return wait(codes.otherRevision, soon, `mounted ${mounted.revision}, granted ${granted}`);
  if (mounted.kind === "refused") return wait(codes.secretRefused, resync, mounted.why);
  const why = (mounted.kind === "other" && mounted.why) || "with other content";
  return wait(codes.otherRevision, soon, `mounted ${mounted.revision} ${why}`);
}

/** Rejects a grant before anything on the node is touched; undefined if the grant is valid. */
function rejectGrant({ grant, refused }: Facts, journal: Journal | undefined): Step | undefined {
  const activeGrant = granted(grant);
  if (activeGrant === undefined) return undefined;
  if (journal !== undefined && activeGrant.revision < journal.revision)
    return waitAndReport("behind", codes.behind, `the node has ${journal.revision}`);
  // If the refused content is already in force, the node keeps it, because the reason for the
  // refusal might be gone by now.
  const isKept = journal !== undefined && belongsTo(journal, grant);
  return refused === grantedKey(grant) && !isKept
    ? waitAndReport("unfit", codes.refusedGrant)
    : undefined;
}

/**
 * The node has no content, and takes no content without a grant. With a grant, it acts like a node
 * without a journal.
 */
function withoutContent(facts: Facts): Answer {
  if (grantedRevision(facts.grant) === 0) return awaitGrant(facts);
  const document = documentToApply(facts);
  if (document?.intent === "release") return emptying(facts, document) ?? whyUnseen(facts) ?? leave;
  const answer = chain({ ...facts, journal: { kind: "none" }, leftovers: false });
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
    return record(codes.toBeReread, unproved({ ...journal, ...current }));
  // The file is in place. Entries that the file lacks are not ours any more.
  if (journal.phase === "applying") return byTable(facts, { ...journal, ...current });
  const { owned, revision, digest, content } = journal;
  if (JSON.stringify(current) !== JSON.stringify({ owned, revision, digest, content }))
    return record(codes.toBeWritten, { ...journal, ...current, ...restartAsProof(facts, journal) });
  if (journal.phase === "applied" && document.intent === "release") {
    const doubt = journal.unverified === true && facts.lost && file.isUnexplained(document);
    return doubt ? unverified : (awaitRepaired(facts, journal) ?? whyUnseen(facts) ?? leave);
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

/** Whether a restart is due, but systemd cannot be reached, and the kubelet answers. */
function isUnrestartable(facts: Facts, journal: Journal): boolean {
  const owes = journal.matters || journal.owed !== undefined;
  const isOwed = owes && !isIdle(journal) && facts.config.restart === "Always";
  return isOwed && isOutOfReach(facts) && facts.healthy === true;
}

/** If a new grant arrives before the kubelet has reread the file, makes a restart due. */
function restartAsProof({ grant }: Facts, { phase, rereads }: Journal): Partial<Journal> {
  const isNew = phase === "applied" && rereads !== undefined && granted(grant) !== undefined;
  return isNew ? { phase: "applying", matters: true } : {};
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
 * Decides whether the agent is Ready although it refuses content.
 *
 * The controller grants revisions only to Ready pods, and an agent can report a refusal only for a
 * grant. So an agent on an unfit node turns Ready if it has no grant. If the agent were not Ready,
 * the controller would never get the reason, and the node would block a withdrawal.
 *
 * The agent never refuses a withdrawal. It refuses other content only after it has read the granted
 * document.
 */
function withReadiness(facts: Facts, answer: Answer): Answer {
  const { grant, mounted } = facts;
  if (!("refused" in answer) || grant === "unread") return answer;
  if (granted(grant) === undefined) return { ...answer, ready: true };
  if (mounted === undefined) return ask("mounted");
  if (documentToApply(facts)?.intent === "apply") return answer;
  const { refused: _refused, ...wait } = answer;
  return wait;
}

/**
 * Whether the agent must finish the change under way before it handles the present grant, because
 * the changed file is in place and the kubelet might be down. With --restart Never, newer content
 * can replace the change at once.
 */
function finishesFirst({ config, grant }: Facts, journal: Journal, file: FoundFile): boolean {
  if (isIdle(journal) || config.restart === "Never" || isAwaitingReread(journal)) return false;
  return !belongsTo(journal, grant) && file.holds(journal.owned);
}

/**
 * Handles a node without a grant, or whose grant was revoked. With a journal, the node keeps what
 * it has. Without a journal, it takes the served content. If nothing is served, it records that it
 * takes nothing without a grant. Undefined if `document` is to be applied, or if the mounted
 * content is not known yet.
 */
function withoutGrant(
  facts: Facts,
  journal: Journal | undefined,
  file: FoundFile,
  document: Document | undefined,
): Answer | undefined {
  if (journal !== undefined && !isIdle(journal)) {
    if (facts.grant === "unread") return undefined;
    if (isAbandoned(journal, file, document)) return abandon(journal, journal.undo);
    // Served content does not replace a change that began for a grant.
    const goesOn = document === undefined ? journal.phase === "applying" : wasGranted(journal);
    return goesOn ? { ...byTable(facts, journal), ready: false } : undefined;
  }
  if (journal !== undefined && !(document !== undefined && failedWithoutGrant(journal)))
    return keepContent(facts, journal, file, document);
  if (facts.mounted?.kind === "nothing") return nothingServed(facts, facts.mounted.releasing, file);
  return undefined;
}

/** Whether the change began for a grant. */
function wasGranted({ grant }: Journal): boolean {
  return grant !== undefined;
}

type Undo = NonNullable<Journal["undo"]>;

/**
 * Whether the grant was revoked before the new file was in place, and no restart is due. Only the
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
  return isBefore && (document === undefined || wasGranted(journal));
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
function failedWithoutGrant({ revision, content, quarantine }: Journal): boolean {
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

/** The node has nothing of ours and waits for a grant. */
function awaitGrant(facts: Facts): Answer {
  if (facts.healthy === undefined) return ask("healthz");
  if (!facts.healthy) return refuse(codes.kubeletSilent, soon);
  return { action: "nothing", code: codes.fit, ready: true, again: resync };
}

function nothingServed(facts: Facts, releasing: boolean, file: FoundFile): Answer {
  // During a withdrawal, a new node records nothing.
  if (releasing)
    return facts.leftovers ? atOnce({ action: "leave", code: codes.withdrawn }) : awaitGrant(facts);
  const unfit = preflightUngranted(facts);
  if (unfit !== undefined) return unfit;
  return record(codes.fit, startJournal(facts, file.now));
}
