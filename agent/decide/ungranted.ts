/** What a node does without a grant, and what it ends before it looks at one. Pure. */
import type { Document } from "../delivery/mount.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import type { Facts } from "../facts/facts.ts";
import { isOf } from "../facts/grant.ts";
import { codes } from "../facts/problems.ts";
import {
  type Answer,
  ask,
  atOnce,
  record,
  refuse,
  resync,
  soon,
  type Step,
} from "../facts/step.ts";
import { confirmed, type File, firstJournal, isIdle, type Journal } from "../journal/journal.ts";
import { byTable, idleAs } from "../restart/phases.ts";
import { isAwaited } from "../restart/reread.ts";
import { unfitness } from "./preflight.ts";

/**
 * Whether a change that has begun is ended first: its file is in place, and a kubelet may be down
 * because of it. Where no kubelet is restarted, newer content may take its place.
 */
export function endsFirst({ config, grant }: Facts, journal: Journal, file: FoundFile): boolean {
  if (isIdle(journal) || config.restart === "Never" || isAwaited(journal)) return false;
  return !isOf(journal, grant) && file.holds(journal.owned);
}

/**
 * Without a grant, or when it was taken back: with a journal the node keeps what it has; without
 * one it takes what is served or, where nothing is, notes that it takes nothing unasked. Undefined
 * where `document` is to be applied, or where it is not known yet what is mounted.
 */
export function ungranted(
  facts: Facts,
  journal: Journal | undefined,
  file: FoundFile,
  document: Document | undefined,
): Answer | undefined {
  if (journal !== undefined && !isIdle(journal)) {
    if (facts.grant === "unread") return undefined;
    if (isAbandoned(journal, file, document)) return abandon(journal, journal.undo);
    // What is served does not take the place of what was granted.
    const goesOn = document === undefined ? journal.phase === "applying" : wasGranted(journal);
    return goesOn ? { ...byTable(facts, journal), ready: false } : undefined;
  }
  if (journal !== undefined && !(document !== undefined && failedUnasked(journal)))
    return keep(facts, journal, file, document);
  if (facts.mounted?.kind === "nothing") return nothing(facts, facts.mounted.releasing, file);
  return undefined;
}

/**
 * Whether the change was begun for a grant. Version 0.2 recorded none; there a node that had
 * something took nothing unasked either.
 */
function wasGranted({ grant, undo }: Journal): boolean {
  return grant !== undefined || (undo?.revision ?? 0) > 0;
}

type Undo = NonNullable<Journal["undo"]>;

/**
 * A grant was taken back before its file was in place, and no restart is owed. Only the very file
 * that the change found shows that: the new one may lack entries that the journal still has.
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

function isSame(one: File, other: File): boolean {
  if ("absent" in one || "absent" in other) return "absent" in one && "absent" in other;
  return one.bytes.equals(other.bytes);
}

/** The journal as it was before the change. What lies beside config.json may be written already. */
function abandon(journal: Journal, undo: Undo): Step {
  const { revision, digest, content } = undo;
  const isBeside = journal.owned.answer !== undefined;
  const owned = isBeside ? journal.owned : undo.owned;
  return record(codes.inForce, { ...confirmed(journal), revision, digest, content, owned });
}

/** The served content failed on a node that had nothing: it is tried again after a time. */
function failedUnasked({ revision, content, quarantine }: Journal): boolean {
  return revision === 0 && content === "" && quarantine !== undefined && !quarantine.grant;
}

/** A drift is repaired where the Secret still has the node's own content. */
function keep(
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

/** The node has nothing of ours, and waits for a grant. */
export function waiting(facts: Facts): Answer {
  if (facts.healthy === undefined) return ask("healthz");
  if (!facts.healthy) return refuse(codes.kubeletSilent, soon);
  return { action: "nothing", code: codes.fit, ready: true, again: resync };
}

function nothing(facts: Facts, releasing: boolean, file: FoundFile): Answer {
  // What is withdrawn leaves no trace on a node that joins.
  if (releasing)
    return facts.left ? atOnce({ action: "leave", code: codes.withdrawn }) : waiting(facts);
  const unfit = unfitness(facts);
  if (unfit !== undefined) return unfit;
  const doubt = facts.lost ? { unverified: true } : {};
  return record(codes.fit, { ...firstJournal(file.now), ...doubt });
}
