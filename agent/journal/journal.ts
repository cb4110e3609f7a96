/**
 * The journal, which must survive a kill: the state of the node before our first change, which
 * entries are ours, and which step is under way. Pure. It contains credentials, so no part of it is
 * ever logged.
 */
import { createHash } from "node:crypto";
import type { File, Journal, Owned } from "./schema.ts";

export type { File, Journal, Owned };

export type JournalReading =
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "journal"; journal: Journal }>
  /** `owes`: a change that might have stopped the kubelet of `unit` is under way. */
  | Readonly<{ kind: "newer"; why: string; owes: boolean; unit?: string }>
  | Readonly<{ kind: "corrupt"; why: string }>;

/** The version that we write, and the newest version that we can read. */
export const version = 3;

/**
 * A file with previous bytes is named by this prefix and the bytes' digest, which readers check.
 */
export const previousPrefix = "previous-";

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/** A journal as it is stored. `previous`: the files to write before it, by name. */
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
    reads: version,
    before: named(before),
    undo: undo && { ...undo, file: named(undo.file) },
  };
  return { bytes: Buffer.from(JSON.stringify(stored)), previous };
}

export const nothingOwned: Owned = { entries: [], rest: [] };

/** The journal of a node before our first change. */
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

/** The journal after a change whose kubelet has passed its probation. */
export function confirmed(journal: Journal): Journal {
  const {
    undo: _undo,
    owed: _owed,
    settling: _settling,
    renamed: _renamed,
    grant: _grant,
    denied: _denied,
    quarantine,
    ...rest
  } = journal;
  return {
    ...rest,
    phase: "applied",
    matters: false,
    tried: 0,
    called: false,
    // The quarantine of another content continues after the change, because that content might
    // return.
    ...(quarantine !== undefined && quarantine.content !== journal.content && { quarantine }),
  };
}

/**
 * The journal after a change without a restart, and so without a probation. The content counts as
 * proved once the kubelet has had time to reread the file by itself.
 */
export function unproved(journal: Journal): Journal {
  return { ...confirmed(journal), rereads: "" };
}

/** The journal after one more refusal by systemd. */
export function denied(journal: Journal, why: string): Journal {
  return { ...journal, denied: { times: (journal.denied?.times ?? 0) + 1, why } };
}

const firstQuarantine = 600_000;
const longestQuarantine = 21_600_000;

/**
 * The quarantine after one more rollback: 10 minutes, doubled by each failure of the content, up to
 * six hours. `now`: milliseconds of the wall clock.
 */
export function quarantineFor(journal: Journal, now: number): NonNullable<Journal["quarantine"]> {
  const { revision, digest, content, quarantine, grant, denied } = journal;
  const failures = quarantine?.content === content ? quarantine.failures + 1 : 1;
  const lasts = Math.min(longestQuarantine, firstQuarantine * 2 ** Math.min(failures - 1, 10));
  const named = grant === undefined ? {} : { grant };
  const why = denied === undefined ? {} : { why: denied.why };
  return { revision, digest, content, failures, since: now, lasts, told: false, ...named, ...why };
}

/** Whether no change is under way, so that a refusal leaves the node as it is. */
export function isIdle(journal: Journal | undefined): boolean {
  return journal === undefined || journal.phase === "applied";
}

/**
 * Whether the journal proves that an answer of the credential provider is not ours. `lost`: an
 * unreadable journal was set aside, which might have listed an answer.
 */
export function ownsNoAnswer({ owned, unverified }: Journal, lost: boolean): boolean {
  return owned.answer === undefined && unverified !== true && !lost;
}

/** Restarts that we requested in the last `span` milliseconds before `now`. */
export function restartsWithin({ calls }: Journal, now: number, span: number): number {
  return calls.filter((call) => call <= now && now - call < span).length;
}

/**
 * Digests of values that are not ours any more. A login tool or a nightly backup can restore an
 * older copy of the file. While the node has a journal, the agent removes a withdrawn credential
 * that returns with such a copy.
 */
export type Former = NonNullable<Owned["former"]>;

/**
 * The most digests that are kept, 46 bytes each: five months of a token that changes every hour.
 */
const mostDigests = 4000;

/** Joins both lists, `newer` last. If there are too many digests, the oldest are dropped. */
export function joinFormer(older: Former | undefined, newer: Former | undefined): Former {
  const byKey = new Map<string, Set<string>>();
  for (const { key, wrote } of [...(older ?? []), ...(newer ?? [])]) {
    const digests = byKey.get(key) ?? new Set<string>();
    byKey.set(key, digests);
    for (const digest of wrote) digests.add(digest);
  }
  let remaining = mostDigests;
  const lists = [...byKey].toReversed().map(([key, digests]) => {
    const wrote = remaining > 0 ? [...digests].slice(-remaining) : [];
    remaining -= wrote.length;
    return { key, wrote };
  });
  return lists.filter(({ wrote }) => wrote.length > 0).toReversed();
}

/**
 * Drops digests of values that another program had written before our first change, because such
 * values are not ours.
 */
export function withoutTheirs(
  former: Former,
  isTheirs: (key: string, digest: string) => boolean,
): Former {
  return former
    .map(({ key, wrote }) => ({ key, wrote: wrote.filter((digest) => !isTheirs(key, digest)) }))
    .filter(({ wrote }) => wrote.length > 0);
}

/** The field `former` of `Owned`; empty if there are no digests. */
export function formerField(former: Former): Pick<Owned, "former"> {
  return former.length > 0 ? { former } : {};
}
