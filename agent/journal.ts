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
  | Readonly<{ kind: "newer"; why: string }>
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

/** Restarts that we asked for in the last `span` milliseconds before `now`. */
export function callsWithin({ calls }: Journal, now: number, span: number): number {
  return calls.filter((call) => call <= now && now - call < span).length;
}
