/** What a node does without a grant, and what it ends before it looks at one. Pure. */
import { fromTemplate } from "#contract/grant.ts";
import type { Document } from "../delivery/mount.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import type { Facts } from "../facts/facts.ts";
import { isOf } from "../facts/grant.ts";
import { codes } from "../facts/problems.ts";
import { type Answer, atOnce, record, soon, type Step, wait } from "../facts/step.ts";
import { confirmed, firstJournal, isIdle, type Journal } from "../journal/journal.ts";
import { byTable, idleAs } from "../restart/phases.ts";
import { observe } from "./preflight.ts";

/**
 * Whether a change that has begun is ended first: its file is in place, and a kubelet may be down
 * because of it. Where no kubelet is restarted, newer content may take its place. A template's
 * grant comes with a new pod, whose content has always taken its place.
 */
export function endsFirst({ config, grant }: Facts, journal: Journal, file: FoundFile): boolean {
  if (isIdle(journal) || config.restart === "Never") return false;
  if (typeof grant === "object" && (grant.since === fromTemplate || isOf(journal, grant)))
    return false;
  return file.holds(journal.owned);
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
    if (isAbandoned(facts, journal, file, document)) return abandon(journal);
    // What is served does not take the place of what was granted.
    const isGranted = journal.grant !== undefined && document !== undefined;
    return isGranted ? { ...byTable(facts, journal), ready: false } : undefined;
  }
  if (journal !== undefined && !(document !== undefined && failedUnasked(journal)))
    return keep(facts, journal, file, document);
  if (facts.mounted?.kind === "nothing") return nothing(facts, facts.mounted.releasing, file);
  return undefined;
}

/** A grant was taken back before its file was in place, and no restart is owed. */
function isAbandoned(
  { grant }: Facts,
  { phase, owned, owed, grant: granted }: Journal,
  file: FoundFile,
  document: Document | undefined,
): boolean {
  if (phase !== "applying" || grant === "unread" || owed !== undefined) return false;
  return (document === undefined || granted !== undefined) && !file.holds(owned);
}

/**
 * The journal as it was before the change. A withdrawal has no record of that, and is not taken
 * back: its node waits for it.
 */
function abandon(journal: Journal): Step {
  if (journal.undo === undefined) return wait(codes.otherRevision, soon);
  const { revision, digest, content, owned } = journal.undo;
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
  if (!file.holds(journal.owned)) return idleAs(facts, journal, codes.heldDrifted);
  return idleAs(facts, journal, journal.revision > 0 ? codes.inForce : codes.fit);
}

function nothing(facts: Facts, releasing: boolean, file: FoundFile): Answer {
  const seen = observe(facts);
  if (seen.action !== "nothing") return seen;
  // What is withdrawn leaves no trace on a node that joins.
  if (releasing) return facts.left ? atOnce({ action: "leave", code: codes.withdrawn }) : seen;
  const doubt = facts.lost ? { unverified: true } : {};
  return record(codes.fit, { ...firstJournal(file.now), ...doubt });
}
