/** The journal on disk: a small file, with previous bytes in files beside it. */
import { renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { discard, journalName, makeFolder, sweep } from "./folder.ts";
import { type Journal, type JournalReading, previousPrefix, writeJournal } from "./journal.ts";
import { replace } from "../files/atomic-write.ts";
import { hasCode } from "../files/errno.ts";
import { readRegular } from "../files/regular-file.ts";

/** An unreadable journal is kept under this name, with what it names, until the folder goes. */
export const corruptName = `${journalName}.corrupt`;

/** Three times a journal of version 1 with the largest Secret and the largest config.json. */
const mostBytes = 32 * 1024 * 1024;

export async function readStore(folder: string): Promise<JournalReading> {
  const file = join(folder, journalName);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return { kind: "none" };
  const read = readRegular(file, mostBytes, "follow");
  if ("large" in read) return { kind: "corrupt", why: "more than 32 MiB" };
  if ("irregular" in read) return { kind: "corrupt", why: "no regular file" };
  const { readJournal } = await import("./read.ts");
  return readJournal(read.bytes, (name) => open(join(folder, name)));
}

/**
 * Resolves when the journal is durable. The files that it names are written before it, and those
 * that it no longer names are removed after it. A file that the present journal names is whole and
 * is kept; any other may be what a killed agent left.
 */
export async function keepJournal(folder: string, journal: Journal): Promise<void> {
  await makeFolder(folder);
  const { bytes, previous } = writeJournal(journal);
  const there = open(join(folder, journalName));
  for (const [name, one] of previous)
    if (!names(there, name))
      await replace({ target: join(folder, name), folder, bytes: one, mode: 0o600 });
  await replace({ target: join(folder, journalName), folder, bytes, mode: 0o600 });
  sweepPrevious(folder);
}

/**
 * Undoes keepJournal where what it announced cannot be done. `former`: what was there before. Never
 * throws: where nothing can be written, the journal was not written either.
 */
export async function putJournalBack(folder: string, former: Journal | undefined): Promise<void> {
  try {
    if (former !== undefined) return await keepJournal(folder, former);
    discard(join(folder, journalName));
    sweepPrevious(folder);
  } catch {
    // The change is then under way, and is tried again.
  }
}

export function setAside(folder: string): void {
  renameSync(join(folder, journalName), join(folder, corruptName));
}

/** Removes what a killed agent left: it holds credentials. */
export function sweepStore(folder: string): void {
  sweep(folder);
  sweepPrevious(folder);
}

function sweepPrevious(folder: string): void {
  const journals = [journalName, corruptName].map((name) => open(join(folder, name)));
  sweep(
    folder,
    (name) => name.startsWith(previousPrefix) && !journals.some((journal) => names(journal, name)),
  );
}

/** Searches the text, so that a journal of another version, or a damaged one, keeps its files. */
function names(journal: Buffer | undefined, name: string): boolean {
  return journal?.includes(name.slice(previousPrefix.length)) === true;
}

/** The bytes of a file; undefined if there is none, or nothing that can be ours. */
function open(file: string): Buffer | undefined {
  try {
    const read = readRegular(file, mostBytes, "follow");
    return "bytes" in read ? read.bytes : undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
