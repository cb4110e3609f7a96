/** A halted rollout: every node keeps what it has, and nothing that is proved is undone. Pure. */
import { change } from "./change.ts";
import type { Facts } from "../facts/facts.ts";
import type { Journal } from "../journal/journal.ts";
import { byTable, idleAs } from "../restart/phases.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import { givesBack } from "../delivery/withdrawal.ts";
import type { Document } from "../delivery/mount.ts";
import { type Answer, record } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * Whether a node keeps what it has under a hold: what is in force, of whatever revision, and what
 * is on probation. Any other node takes the held document.
 */
export function isKept(journal: Journal | undefined, document: Document): journal is Journal {
  if (document.intent !== "hold" || journal === undefined) return false;
  if (journal.phase === "settling") return true;
  // What this very hold gives back is on its way out.
  return (
    journal.phase === "applied" && !(givesBack(document) && journal.content === document.content)
  );
}

export function held(facts: Facts, journal: Journal, found: FoundFile, document: Document): Answer {
  if (journal.phase === "settling") return byTable(facts, journal);
  const { revision, digest } = document;
  // So that it counts as our revision's while the mount lags behind the next one.
  if (journal.revision !== revision || journal.digest !== digest)
    return record(codes.held, { ...journal, revision, digest });
  if (found.holds(journal.owned)) return idleAs(facts, journal, codes.held);
  const planned =
    journal.content === document.content ? found.plan(journal, document, facts.lost) : undefined;
  return planned?.changed
    ? change(facts, journal, found, document, planned)
    : idleAs(facts, journal, codes.heldDrifted);
}
