/**
 * The journal on disk: a small file, with the previous bytes in files beside it. Also the digests
 * of values that were ours before a withdrawal, in the pod's own directory.
 */
import { renameSync, statSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { discard, journalName, makeFolder, sweep } from "./folder.ts";
import {
  type Journal,
  type JournalReading,
  previousPrefix,
  writeJournal,
  type Former,
} from "./journal.ts";
import { replace } from "../files/atomic-write.ts";
import { hasCode } from "../files/errno.ts";
import { readRegular } from "../files/own-file.ts";

/** An unreadable journal is kept under this name, with its files, until the folder is removed. */
export const corruptName = `${journalName}.corrupt`;

/**
 * The most bytes that we read. A journal contains displaced entries as JSON text, in `owned` and in
 * `undo`, and the largest config.json has 2 MiB.
 */
const mostBytes = 32 * 1024 * 1024;

export async function readStore(folder: string): Promise<JournalReading> {
  const file = join(folder, journalName);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return { kind: "none" };
  const read = readRegular(file, mostBytes, "follow");
  if ("large" in read) return { kind: "corrupt", why: "more than 32 MiB" };
  if ("irregular" in read) return { kind: "corrupt", why: "not a regular file" };
  const { readJournal } = await import("./read.ts");
  return readJournal(read.bytes, (name) => open(join(folder, name)));
}

/**
 * Resolves once the journal is durable. The files that it names are written first, and files that
 * it no longer names are removed last. A file that the journal on disk already names is complete
 * and is not written again. Any other file might be an incomplete leftover of a killed agent.
 */
export async function saveJournal(folder: string, journal: Journal): Promise<void> {
  await makeFolder(folder);
  const { bytes, previous } = writeJournal(journal);
  const there = open(join(folder, journalName));
  for (const [name, one] of previous)
    if (!mentions(there, name))
      await replace({ target: join(folder, name), folder, bytes: one, mode: 0o600 });
  await replace({ target: join(folder, journalName), folder, bytes, mode: 0o600 });
  sweepPrevious(folder);
}

/**
 * Undoes saveJournal if the change that the journal announces is impossible. `former`: the journal
 * before saveJournal. Never throws: if the disk is not writable, saveJournal wrote nothing either.
 */
export async function restoreJournal(folder: string, former: Journal | undefined): Promise<void> {
  try {
    if (former !== undefined) return await saveJournal(folder, former);
    discard(join(folder, journalName));
    sweepPrevious(folder);
  } catch {
    // If this fails, the change counts as under way and is tried again.
  }
}

export function setAside(folder: string): void {
  renameSync(join(folder, journalName), join(folder, corruptName));
}

/** Removes the leftovers of a killed agent, because they contain credentials. */
export function sweepStore(folder: string): void {
  sweep(folder);
  sweepPrevious(folder);
}

function sweepPrevious(folder: string): void {
  const journals = [journalName, corruptName].map((name) => open(join(folder, name)));
  sweep(
    folder,
    (name) =>
      name.startsWith(previousPrefix) && !journals.some((journal) => mentions(journal, name)),
  );
}

/**
 * Whether the journal names the file. Searches the text, which works even if the journal is damaged
 * or has another version.
 */
function mentions(journal: Buffer | undefined, name: string): boolean {
  return journal?.includes(name.slice(previousPrefix.length)) === true;
}

/** The bytes of a file; undefined if it does not exist, or cannot be ours. */
function open(file: string): Buffer | undefined {
  try {
    const read = readRegular(file, mostBytes, "follow");
    return "bytes" in read ? read.bytes : undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/**
 * What the agent must know after it has removed the journal. By the digests, the agent recognizes
 * what a withdrawal has removed. `former`: digests of our values. `copies`: digests of each
 * config.json that contained all of our entries before the last withdrawal, oldest first.
 * `present`: such digests since then. These files do not count as old copies yet: an entry with a
 * value in `former` might be a new entry of the node's owner. `noAnswer`: the last journal that
 * this pod saw proved that an answer of the credential provider is not ours, or the pod saw no
 * journal.
 */
export type Past = Readonly<{
  copies: readonly string[];
  present: readonly string[];
  former: Former;
  noAnswer: boolean;
}>;

const nothing: Past = { copies: [], present: [], former: [], noAnswer: false };

/**
 * This file outlives our folder, which a withdrawal removes, and the process, which exits to
 * confirm the withdrawal. It is removed with the pod.
 */
const formerName = "former";

/** Bytes: half of what the pod's directory can contain. */
const mostFormerBytes = 32 * 1024;
/** A backup that is older than this many changes of the file is not recognized. */
const mostCopies = 64;
/** Bytes of JSON text: for a digest, for a list in `former` without its key, and for the rest. */
const bytesOf = { digest: 46, list: 21, copies: 57 };

/**
 * Reads the digests; empty if there is no valid file. If the file is invalid, an answer might be
 * ours. Never throws.
 */
export function readPast(directory: string): Past {
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, formerName), "utf8"));
    const { copies, present, former, noAnswer } = (read ?? {}) as Readonly<Record<string, unknown>>;
    return isTexts(copies) && isTexts(present) && Array.isArray(former)
      ? { copies, present, former: former.filter(isFormerEntry), noAnswer: noAnswer === true }
      : nothing;
  } catch (error) {
    return { ...nothing, noAnswer: hasCode(error, "ENOENT") };
  }
}

/**
 * Saves the digests, and returns the digests that it keeps. If there are too many, it drops the
 * oldest. If the digests cannot be saved, they are lost when this process ends.
 */
export function savePast(directory: string, past: Past): Past {
  const copies = past.copies.slice(-mostCopies);
  const present = past.present.slice(-mostCopies);
  const digests = (copies.length + present.length) * bytesOf.digest;
  const left = mostFormerBytes - bytesOf.copies - digests;
  const kept: Past = { ...past, copies, present, former: newest(past.former, left) };
  try {
    writeFileSync(join(directory, formerName), JSON.stringify(kept), { mode: 0o600 });
  } catch {
    // This process still has the digests in memory.
  }
  return kept;
}

function newest(former: Former, most: number): Former {
  let left = most;
  const lists = former.toReversed().map(({ key, wrote }) => {
    left -= Buffer.byteLength(JSON.stringify(key)) + bytesOf.list;
    const fit = Math.max(0, Math.floor(left / bytesOf.digest));
    const fitting = fit === 0 ? [] : wrote.slice(-fit);
    left -= fitting.length * bytesOf.digest;
    return { key, wrote: fitting };
  });
  return lists.filter(({ wrote }) => wrote.length > 0).toReversed();
}

function isFormerEntry(value: unknown): value is Former[number] {
  const { key, wrote } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof key === "string" && isTexts(wrote);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
