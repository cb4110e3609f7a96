/**
 * The journal on disk: a small file, with the other programs' bytes in a file beside it. The
 * journal and config.json change together: the rename of config.json is the commit. So the journal
 * always describes the config.json that is in place.
 */
import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { copiesIn, dropCopies, keepCopy } from "./copies.ts";
import { discard, journalName, makeFolder, mostBytes, sweep } from "./folder.ts";
import {
  digestOf,
  type File,
  type Journal,
  type JournalReading,
  theirsPrefix,
  writeJournal,
} from "./journal.ts";
import {
  expect,
  type FileIdentity,
  moveFile,
  replace,
  stage,
  stagedName,
  sync,
  tidy,
} from "../files/atomic-write.ts";
import { hasCode, ignoring } from "../files/errno.ts";
import { readRegular } from "../files/own-file.ts";

/** The journal of a commit. A journal that is saved alone is staged under another name. */
const stagedJournal = stagedName("commit");

/** `name`: of the file with the journal. */
export async function readStore(folder: string, name = journalName): Promise<JournalReading> {
  const file = join(folder, name);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return { kind: "none" };
  const read = readRegular(file, mostBytes, "follow");
  if ("large" in read) return { kind: "corrupt", why: "more than 8 MiB" };
  if ("irregular" in read) return { kind: "corrupt", why: "not a regular file" };
  const { readJournal } = await import("./read.ts");
  return readJournal(read.bytes, (other) => open(join(folder, other)));
}

/**
 * The other programs' bytes that a lost journal has left: those of the only such file that is
 * complete.
 */
export function readTheirs(folder: string): Buffer | undefined {
  const names = ignoring("ENOENT", () => readdirSync(folder)) ?? [];
  const complete = names.flatMap((name) => {
    const bytes = name.startsWith(theirsPrefix) ? open(join(folder, name)) : undefined;
    return bytes !== undefined && name === theirsPrefix + digestOf(bytes) ? [bytes] : [];
  });
  return complete.length === 1 ? complete[0] : undefined;
}

/** Resolves once the journal is durable. `former`: the journal that it replaces. */
export async function saveJournal(
  folder: string,
  journal: Journal,
  former: Journal | undefined,
): Promise<void> {
  await makeFolder(folder);
  // First, because a killed agent's successor does not know what the former journal had.
  await dropCopies(folder, former, journal);
  const bytes = await prepare(folder, journal);
  await replace({ target: join(folder, journalName), folder, bytes, mode: 0o600 });
  tidyStore(folder);
}

/** Journal and file of one commit. */
export type Commit = Readonly<{
  journal: Journal;
  /** The journal that it replaces. */
  former: Journal | undefined;
  file: File;
  /** config.json at the time of the decision. */
  expected: FileIdentity;
  /** The bytes of an unreadable config.json, which are kept in our folder. */
  unreadable: Buffer | undefined;
}>;

/**
 * Replaces config.json and the journal together, durably. Both are staged and synced; the rename of
 * config.json is the commit; then the staged journal is renamed. `settleStore` completes a commit
 * that was cut off after the first rename. A file that must disappear is renamed into our folder.
 * Throws FileChanged, or the error of the file system. After an error, nothing has changed, unless
 * only the last syncs or the last rename failed.
 */
export async function commit(
  target: string,
  folder: string,
  { journal, former, file, expected, unreadable }: Commit,
): Promise<void> {
  await makeFolder(folder);
  if (former === undefined) await dropCopies(folder, former, journal);
  if (unreadable !== undefined) await keepCopy(folder, unreadable);
  const bytes = await prepare(folder, journal);
  const paths = pathsIn(folder, target);
  try {
    // A staged journal alone is a commit that happened, so the name of the staged file must be
    // durable before.
    if ("bytes" in file) await stage(paths.staged, file.bytes, file.mode);
    else await stage(paths.removing, Buffer.alloc(0), 0o600);
    await sync(folder);
    await stage(paths.journal, bytes, 0o600);
    await sync(folder);
    expect(target, expected);
    if ("bytes" in file) moveFile(paths.staged, target);
    else takeAway(target, paths);
  } catch (error) {
    // A failure of the removal must not hide the first error.
    await drop(folder, paths).catch(() => {});
    throw error;
  }
  await finish(target, folder, paths);
  tidyStore(folder);
}

function pathsIn(folder: string, target: string) {
  const staged = join(folder, stagedName(target));
  const journal = join(folder, stagedJournal);
  return { staged, removing: `${staged}.removing`, removed: `${staged}.removed`, journal };
}

type Paths = ReturnType<typeof pathsIn>;

/** Moves config.json into our folder; if there is none, only the mark that stands for it. */
function takeAway(target: string, { removing, removed }: Paths): void {
  if (existsSync(target)) moveFile(target, removed);
  else tidy(removing);
}

/**
 * Completes a commit. What happened to config.json must be durable before the journal describes it.
 */
async function finish(
  target: string,
  folder: string,
  { journal, removed, removing }: Paths,
): Promise<void> {
  await sync(dirname(target));
  if (existsSync(removed)) await sync(folder);
  await dropLeft(folder);
  renameSync(journal, join(folder, journalName));
  discard(removed);
  discard(removing);
  await sync(folder);
}

/** Drops the copies of what leaves with a commit that happened. The first one has no former. */
async function dropLeft(folder: string): Promise<void> {
  if (copiesIn(folder).length === 0) return;
  const former = await readStore(folder);
  const next = await readStore(folder, stagedJournal);
  if (former.kind === "none" || next.kind !== "journal") return;
  await dropCopies(folder, former.kind === "journal" ? former.journal : undefined, next.journal);
}

/**
 * Drops a commit that did not happen. A staged journal alone would be a commit that happened, so
 * the staged file stays if its journal cannot be removed.
 */
async function drop(folder: string, { journal, staged, removing, removed }: Paths): Promise<void> {
  discard(journal);
  await sync(folder).catch(() => {});
  for (const path of [staged, removing, removed]) tidy(path);
}

/**
 * Completes or drops a commit of a killed agent, and removes its other leftovers, because they
 * contain credentials. The commit happened if the staged config.json is gone, or if the removed one
 * is in our folder.
 */
export async function settleStore(target: string, folder: string): Promise<void> {
  const paths = pathsIn(folder, target);
  if (existsSync(paths.journal)) {
    const isRemoved = existsSync(paths.removed) || !existsSync(paths.removing);
    if (!existsSync(paths.staged) && isRemoved) await finish(target, folder, paths);
    else await drop(folder, paths);
  }
  sweep(folder);
  // Without a readable journal, the other programs' bytes are all that is left of it.
  if ((await readStore(folder)).kind === "journal") tidyStore(folder);
}

/**
 * Removes an unreadable journal, also an empty directory in its place. The other programs' bytes
 * beside it stay for a new journal.
 */
export function setAside(folder: string): void {
  discard(join(folder, journalName));
}

/**
 * The journal's bytes. Writes the file that it names first, unless the journal on disk already
 * names it: any other file might be an incomplete leftover of a killed agent.
 */
async function prepare(folder: string, journal: Journal): Promise<Buffer> {
  const { bytes, theirs } = writeJournal(journal);
  if (theirs !== undefined && !mentions(open(join(folder, journalName)), theirs.name))
    await replace({ target: join(folder, theirs.name), folder, bytes: theirs.bytes, mode: 0o600 });
  return bytes;
}

function tidyStore(folder: string): void {
  const journal = open(join(folder, journalName));
  sweep(folder, (name) => name.startsWith(theirsPrefix) && !mentions(journal, name));
}

function mentions(journal: Buffer | undefined, name: string): boolean {
  return journal?.includes(name.slice(theirsPrefix.length)) === true;
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
