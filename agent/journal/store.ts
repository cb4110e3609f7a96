/** The journal on disk: a small file, with the previous bytes in files beside it. */
import { renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { discard, journalName, makeFolder, sweep } from "./folder.ts";
import { type Journal, type JournalReading, previousPrefix, writeJournal } from "./journal.ts";
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
  const currentBytes = open(join(folder, journalName));
  for (const [name, content] of previous)
    if (!mentions(currentBytes, name))
      await replace({ target: join(folder, name), folder, bytes: content, mode: 0o600 });
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
