/** The unit that a change under way is bound to, whatever the flag says now. Pure. */
import { auto } from "#contract/values.ts";
import type { Journal, JournalReading } from "../journal/journal.ts";
import type { Facts } from "./facts.ts";

/**
 * The unit that a flag names, or that the journal does: a change under way owes it its restart,
 * even if it is down now.
 */
export function owing(flag: string, reading: JournalReading): string | undefined {
  if (flag !== auto) return flag;
  if (reading.kind === "journal") return reading.journal.unit;
  return reading.kind === "newer" ? reading.unit : undefined;
}

/** What a journal says of the unit that a change begins with. */
export function boundTo({ unit }: Pick<Facts, "unit">): Pick<Journal, "unit"> {
  return unit !== undefined && "name" in unit ? { unit: unit.name } : {};
}

/**
 * The journal of a change under way, as it goes on with this unit. If a flag names another one than
 * it began with, what was seen of that says nothing about this one. A journal without a name takes
 * the one that was found.
 */
export function rebound(journal: Journal, unit: Facts["unit"]): Journal {
  if (
    journal.phase === "applied" ||
    unit === undefined ||
    !("name" in unit) ||
    unit.load !== "loaded"
  )
    return journal;
  const { name, invocation } = unit;
  if (journal.unit === name) return journal;
  if (journal.unit === undefined) return { ...journal, unit: name };
  const { settling: _settling, owed: _owed, ...rest } = journal;
  const next = { ...rest, unit: name, tried: 0, called: false };
  if (journal.phase === "applying")
    return { ...next, matters: journal.matters || journal.owed !== undefined };
  if (journal.phase === "restoring") return next;
  return {
    ...next,
    phase: journal.phase === "reviving" ? "reviving" : "restarting",
    owed: invocation,
  };
}
