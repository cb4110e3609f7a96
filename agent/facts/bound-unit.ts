/** The unit that a change under way is bound to, whatever the flag says by now. Pure. */
import { auto } from "#contract/values.ts";
import type { Journal, JournalReading } from "../journal/journal.ts";
import type { Facts } from "./facts.ts";

/** The unit that a flag names, or else the journal: it is owed a restart even if it is down. */
export function owing(flag: string, reading: JournalReading): string | undefined {
  if (flag !== auto) return flag;
  if (reading.kind === "journal") return reading.journal.unit;
  return reading.kind === "newer" ? reading.unit : undefined;
}

/** The journal's record of the unit that a change begins with. */
export function boundTo({ unit }: Pick<Facts, "unit">): Pick<Journal, "unit"> {
  return unit !== undefined && "name" in unit ? { unit: unit.name } : {};
}

/**
 * The journal of a change under way, continued with this unit. If a flag now names another unit
 * than the change began with, what was seen of the old one is dropped. A journal without a unit
 * takes the one that was found.
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
  const { settling: _settling, owed: _owed, denied: _denied, ...rest } = journal;
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
