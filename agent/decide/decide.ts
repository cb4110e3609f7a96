/**
 * The agent's decisions, pure: facts → one action with its reason, or a question. It asks only for
 * what a rule needs.
 *
 * A chain of rules, each of which decides or passes on. Their order is their precedence: first what
 * owes a running kubelet, then the file, then the document. What happens once the file is as it
 * should be is a table (restart/phases.ts).
 */
import { change } from "./change.ts";
import { boundTo, rebound } from "../facts/bound-unit.ts";
import type { Facts } from "../facts/facts.ts";
import { firstJournal, isIdle, type Journal, nothingOwned, unproved } from "../journal/journal.ts";
import { joined } from "../journal/former.ts";
import type { Document, Mounted } from "../delivery/mount.ts";
import { byTable } from "../restart/phases.ts";
import { awaitCleaned, awaitRepaired } from "../restart/reread.ts";
import type { FoundFile, Plan } from "../delivery/delivery.ts";
import { preflight } from "./preflight.ts";
import { isQuarantined, quarantined, undone } from "../restart/quarantine.ts";
import { granted, grantedKey, grantedRevision, isEmpty, isOf, ours } from "../facts/grant.ts";
import { endsFirst, ungranted, waiting } from "./ungranted.ts";
import { weighed } from "./refusal.ts";
import { isUnaskable, stateOf } from "../facts/kubelet-state.ts";
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
  tell,
  wait,
} from "../facts/step.ts";
import { isFound, restoring, startMeanwhile, unreadable } from "./unreadable-file.ts";
import { codes } from "../facts/problems.ts";

export function decide(facts: Facts): Answer {
  return weighed(facts, chain(facts));
}

function chain(facts: Facts): Answer {
  const { file, mounted, grant } = facts;
  if (!facts.alone) return wait(codes.otherAgent, soon);
  if (facts.journal.kind === "newer") return newer(facts, facts.journal);
  if (facts.journal.kind === "corrupt")
    return atOnce({
      action: "set aside",
      code: codes.journalUnreadable,
      detail: facts.journal.why,
    });
  const journal =
    facts.journal.kind === "journal" ? rebound(facts.journal.journal, facts.unit) : undefined;
  if (facts.vanished && journal !== undefined) return record(codes.journalVanished, journal);
  if (!isIdle(journal) && facts.unit === undefined) return ask("kubelet");
  // Older agents undid the journal only at the end of the revival.
  if (journal?.phase === "reviving") return byTable(facts, undone(facts, journal));
  // A rollback needs no document, and with the largest files there is no memory for one.
  if (journal?.phase === "restoring") return restoring(facts, journal, file);
  if (mounted === undefined) return ask("mounted");
  if (isEmpty(journal)) return emptyHanded(facts);
  const document = ours(facts);
  if (document?.intent === "release" && isUntouched(facts)) return untouched(facts, document);
  if (!isFound(file)) return unreadable(facts, journal, file);
  // A withdrawal does not wait until somebody can be asked for a restart.
  const isUrgent = document?.intent === "release" && isUnaskable(facts);
  if (journal !== undefined && !isUrgent && endsFirst(facts, journal, file))
    return { ...byTable(facts, journal), ready: false };
  const refusal = voidGrant(facts, journal);
  if (refusal !== undefined) return refusal;
  const kept = grantedRevision(grant) === 0 ? ungranted(facts, journal, file, document) : undefined;
  if (kept !== undefined) return kept;
  if (document === undefined) return withoutDocument(facts, mounted, journal, file);
  if (isQuarantined(facts, journal, document)) return quarantined(journal);
  const cleaning = journal === undefined ? takeOut(facts, document) : undefined;
  if (cleaning !== undefined) return cleaning;
  const planned = planFor(facts, journal, file, document);
  if (planned.changed) return change(facts, journal, file, document, planned);
  return asPlanned(facts, journal, file, document, planned);
}

/**
 * A withdrawal on a node that has nothing of ours: neither its file nor its kubelet matters, and
 * what a withdrawal that was cut off has left behind goes.
 */
function untouched(facts: Facts, document: Document): Answer {
  const { left, file } = facts;
  const emptied = emptying(facts, document);
  if (emptied !== undefined) return emptied;
  const cleaning = takeOut(facts, document) ?? (left ? leave : awaitCleaned(facts));
  if (cleaning !== undefined) return cleaning;
  // What is in force lies elsewhere: that nothing is left here confirms nothing.
  if (facts.elsewhere !== undefined) return wait(codes.elsewhere, resync, facts.elsewhere);
  const detail = "note" in file ? file.note : undefined;
  return {
    action: "nothing",
    code: codes.withdrawn,
    ready: true,
    again: resync,
    ...(detail && { detail }),
  };
}

/** The provider's answer is ours alone: a withdrawal empties it, whatever the journal says. */
function emptying(facts: Facts, document: Document): Answer | undefined {
  const { file } = facts;
  if (!isFound(file)) return undefined;
  const planned = file.plan(undefined, document, false);
  return planned.changed ? change(facts, undefined, file, document, planned) : undefined;
}

/**
 * Takes an old copy of ours out that another program wrote back after the withdrawal; undefined
 * where there is none. It has no undo, so no byte of what is withdrawn is kept.
 */
function takeOut(facts: Facts, document: Document): Step | undefined {
  const { file, former, writeIn, lost } = facts;
  // An unreadable journal that was set aside would go with the folder.
  if (former.length === 0 || lost || !isFound(file)) return undefined;
  const journal = { ...firstJournal({ absent: true }), owned: { ...nothingOwned, former } };
  const plan = file.plan(journal, { ...document, intent: "release" }, false);
  if (!plan.changed) return undefined;
  if (writeIn > 0) return wait(codes.toBeWritten, writeIn);
  const clean: Step = atOnce({ action: "clean", code: codes.toBeWritten, plan, found: file });
  return clean;
}

/** With what was ours before a withdrawal, where an old copy of that has come back. */
function planFor(
  { former, lost }: Facts,
  journal: Journal | undefined,
  file: FoundFile,
  document: Document,
): Plan {
  if (journal !== undefined && former.length > 0) {
    const owned = { ...journal.owned, former: joined(former, journal.owned.former) };
    const planned = file.plan({ ...journal, owned }, document, lost);
    if (planned.changed) return planned;
  }
  return file.plan(journal, document, lost);
}

function isUntouched({ journal, lost }: Facts): boolean {
  return journal.kind === "none" && !lost;
}

/** A newer agent's journal: nothing is written, but a kubelet that it left down is started. */
function newer(facts: Facts, { why, owes }: Extract<Facts["journal"], { kind: "newer" }>): Answer {
  const mayStart = owes && facts.config.restart === "Always";
  if (mayStart && facts.unit === undefined) return ask("kubelet");
  const down = mayStart && stateOf(facts, { phase: "reviving" }) === "down";
  if (!down) return { ...wait(codes.newerJournal, resync, why), ...(!owes && { refused: true }) };
  if (facts.sinceRestart < 60_000) return wait(codes.newerJournal, soon, why);
  const { unit } = boundTo(facts);
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

/** Our revision's document is not mounted: nothing new begins, but an owed restart is made. */
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
  if (journal?.phase === "applied" && isOf(journal, facts.grant) && holds)
    return byTable(facts, journal);
  // As with older content in force: the release was confirmed, and newer content is mounted.
  if (isUntouched(facts) && !facts.left && isOutdated(facts, mounted)) return waiting(facts);
  return startMeanwhile(facts, journal, whyNotOurs(facts, mounted));
}

/** Whether the grant was proved, and is older than all that is mounted. */
function isOutdated({ grant, proved }: Facts, mounted: Mounted): boolean {
  const isOlder = mounted.kind === "other" && mounted.revision > grantedRevision(grant);
  return isOlder && proved === grantedKey(grant);
}

function whyNotOurs({ grant }: Facts, mounted: Mounted): Step {
  if (mounted.kind === "incomplete") return wait(codes.incomplete, soon, mounted.why);
  if (mounted.kind === "nothing") return wait(codes.otherRevision, soon);
  const granted = grantedRevision(grant);
  if (granted > 0 && mounted.revision !== granted)
    return wait(codes.otherRevision, soon, `mounted ${mounted.revision}, granted ${granted}`);
  if (mounted.kind === "refused") return wait(codes.secretRefused, resync, mounted.why);
  const why = (mounted.kind === "other" && mounted.why) || "with another content";
  return wait(codes.otherRevision, soon, `mounted ${mounted.revision} ${why}`);
}

/** Why nothing comes of a grant, before anything on the node is touched. */
function voidGrant({ grant, refused }: Facts, journal: Journal | undefined): Step | undefined {
  const given = granted(grant);
  if (given === undefined) return undefined;
  if (journal !== undefined && given.revision < journal.revision)
    return tell("behind", codes.behind, `the node has ${journal.revision}`);
  // What was wrong may be over, and the content may have come into force before: it is kept then.
  const isKept = journal !== undefined && isOf(journal, grant);
  return refused === grantedKey(grant) && !isKept ? tell("unfit", codes.refusedGrant) : undefined;
}

/** The node takes nothing unasked. A grant comes to it as to a node without a journal. */
function emptyHanded(facts: Facts): Answer {
  if (grantedRevision(facts.grant) === 0) return waiting(facts);
  const document = ours(facts);
  if (document?.intent === "release") return emptying(facts, document) ?? leave;
  const answer = chain({ ...facts, journal: { kind: "none" }, left: false });
  if (answer.action !== "apply" || facts.journal.kind !== "journal") return answer;
  return { ...answer, former: { journal: facts.journal.journal } };
}

/** config.json is as it should be. */
function asPlanned(
  facts: Facts,
  known: Journal | undefined,
  found: FoundFile,
  document: Document,
  planned: Plan,
): Answer {
  if (known === undefined) return withoutJournal(facts, found, document, planned);
  const journal = document.intent === "release" ? withoutUndo(known) : known;
  const current = named(planned, document);
  if (document.intent === "release" && isLeftBehind(facts, journal))
    return record(codes.toBeReread, unproved({ ...journal, ...current }));
  // The file is in place, so what it lacks is no longer ours.
  if (journal.phase === "applying") return byTable(facts, { ...journal, ...current });
  const { owned, revision, digest, content } = journal;
  if (JSON.stringify(current) !== JSON.stringify({ owned, revision, digest, content }))
    return record(codes.toBeWritten, { ...journal, ...current, ...proving(facts, journal) });
  if (journal.phase === "applied" && document.intent === "release") {
    const doubt = journal.unverified === true && facts.lost && found.isUnexplained(document);
    return doubt ? unverified : (awaitRepaired(facts, journal) ?? leave);
  }
  return byTable(facts, journal);
}

/**
 * A withdrawal has no undo. Where somebody else has put the file right in mid-change there is
 * nothing to write, and the journal still tells what that change replaced: what is withdrawn.
 */
function withoutUndo({ undo: _undo, ...journal }: Journal): Journal {
  return journal;
}

/** A restart is owed that nobody can be asked for, and the kubelet lives. */
function isLeftBehind(facts: Facts, journal: Journal): boolean {
  const owes = journal.matters || journal.owed !== undefined;
  const isOwed = owes && !isIdle(journal) && facts.config.restart === "Always";
  return isOwed && isUnaskable(facts) && facts.healthy === true;
}

/** A kubelet that may not have read the file yet is restarted for a new grant. */
function proving({ grant }: Facts, { phase, rereads }: Journal): Partial<Journal> {
  const isNew = phase === "applied" && rereads !== undefined && granted(grant) !== undefined;
  return isNew ? { phase: "applying", matters: true } : {};
}

/** config.json is as it should be, and no journal says that anything in it is ours. */
function withoutJournal(facts: Facts, found: FoundFile, document: Document, planned: Plan): Answer {
  if (document.intent === "release" && found.isUnexplained(document)) return unverified;
  if (document.intent === "apply" && facts.elsewhere !== undefined)
    return refuse(codes.elsewhere, resync, facts.elsewhere);
  const first = { ...firstJournal(planned.before), ...named(planned, document) };
  if (!facts.lost) return record(codes.toBeWritten, first);
  // The lost journal may have owed a restart, and told of what else there is.
  const doubt = "absent" in planned.before ? {} : { unverified: true };
  return (
    preflight(facts) ??
    record(codes.toBeWritten, {
      ...first,
      ...doubt,
      ...boundTo(facts),
      phase: "applying",
      matters: true,
    })
  );
}

const leave: Step = atOnce({ action: "leave", code: codes.withdrawn });

/** Withdrawn as far as anybody can tell, which must not be reported as withdrawn. */
const unverified = wait(codes.withdrawnInDoubt, soon);
