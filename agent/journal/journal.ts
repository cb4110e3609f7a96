/**
 * What must survive a kill: what the node had before us, what is ours in its file, and which step
 * is under way. Pure. It holds credentials, so no part of it is ever logged.
 */
import { createHash } from "node:crypto";
import type { File, Owned, Record } from "./schema.ts";

export type { File, Owned };

export type Journal = Record;

export type JournalReading =
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "journal"; journal: Journal }>
  /**
   * `owes`: as far as can be told, the kubelet may be down because of what is under way; the one of
   * `unit`.
   */
  | Readonly<{ kind: "newer"; why: string; owes: boolean; unit?: string }>
  | Readonly<{ kind: "corrupt"; why: string }>;

/**
 * Of the journals that we write, and the newest that we understand. In 1 the previous bytes stood
 * in it.
 */
export const version = 2;

/**
 * Previous bytes lie beside the journal under this and their digest: whoever reads them knows that
 * they are the ones.
 */
export const previousPrefix = "previous-";

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/**
 * A journal as it is stored: `previous` must lie in its folder, name → bytes, before a journal that
 * names them does.
 */
export type Stored = Readonly<{ bytes: Buffer; previous: ReadonlyMap<string, Buffer> }>;

export function writeJournal(journal: Journal): Stored {
  const previous = new Map<string, Buffer>();
  const named = (file: File) => {
    if ("absent" in file) return file;
    const digest = digestOf(file.bytes);
    previous.set(previousPrefix + digest, file.bytes);
    return { digest, mode: file.mode };
  };
  const { before, undo } = journal;
  const stored = {
    ...journal,
    before: named(before),
    undo: undo && { ...undo, file: named(undo.file) },
  };
  return { bytes: Buffer.from(JSON.stringify(stored)), previous };
}

export const nothingOwned: Owned = { entries: [], rest: [] };

/** The journal of a node that we are about to touch for the first time. */
export function firstJournal(before: File): Journal {
  return {
    version,
    reads: version,
    phase: "applied",
    revision: 0,
    content: "",
    before,
    owned: nothingOwned,
    matters: false,
    tried: 0,
    called: false,
    calls: [],
  };
}

/** The change is over and proved. */
export function confirmed(journal: Journal): Journal {
  const {
    undo: _undo,
    owed: _owed,
    settling: _settling,
    renamed: _renamed,
    quarantine,
    ...rest
  } = journal;
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
