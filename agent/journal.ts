/**
 * What must survive a kill: what the node had before us, what is ours in its file, and which step is under way. Pure. It
 * holds credentials (the previous bytes), so no part of it is ever logged.
 */
import type { Record } from "./gate.ts";

export type Journal = Record;
export type PreviousFile = Journal["before"];

export type JournalReading =
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "journal"; journal: Journal }>
  /** `owes`: as far as can be told, the kubelet may be down because of what is under way; the one of `unit`. */
  | Readonly<{ kind: "newer"; why: string; owes: boolean; unit?: string }>
  | Readonly<{ kind: "corrupt"; why: string }>;

/** Of the records that we write, and the newest that we understand. */
export const version = 1;

/**
 * JSON with one member a line. It may have 10 MiB, most of them in three members, and V8's heap is small: neither here nor
 * in the gate it is ever one text.
 */
export function writeJournal(journal: Journal): Buffer {
  const members = Object.entries(journal).filter(([, value]) => value !== undefined);
  const lines = members.map(([key, value], index) =>
    Buffer.from(`${index === 0 ? "{" : ",\n"}${JSON.stringify(key)}:${JSON.stringify(value)}`),
  );
  return Buffer.concat([...lines, Buffer.from("}")]);
}

/** The journal of a node that we are about to touch for the first time. */
export function firstJournal(before: PreviousFile): Journal {
  return {
    version,
    reads: version,
    phase: "applied",
    revision: 0,
    content: "",
    before,
    owned: { entries: [], rest: [] },
    matters: false,
    tried: 0,
    called: false,
    calls: [],
  };
}

/** The change is over and proved. */
export function confirmed(journal: Journal): Journal {
  const { undo: _undo, owed: _owed, settling: _settling, renamed: _renamed, quarantine, ...rest } = journal;
  return {
    ...rest,
    phase: "applied",
    matters: false,
    tried: 0,
    called: false,
    // Another content's quarantine outlives the change: that content may come back.
    ...(quarantine !== undefined && quarantine.content !== journal.content && { quarantine }),
  };
}

/** Nothing is under way: whatever is refused now leaves the node as it is. */
export function isAtRest(journal: Journal | undefined): boolean {
  return journal === undefined || journal.phase === "applied";
}

/** Restarts that we asked for in the last `span` milliseconds before `now`. */
export function callsWithin({ calls }: Journal, now: number, span: number): number {
  return calls.filter((call) => call <= now && now - call < span).length;
}
