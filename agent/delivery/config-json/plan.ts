/** Plans the new config.json, from the file, the journal and the mounted Secret. Pure. */
import { digest, giveTheSame, areEquivalent } from "./compare.ts";
import {
  emptyDocument,
  type NodeDocument,
  readDocument,
  writeDocument,
  excess,
} from "./document.ts";
import { type File, type Journal, nothingOwned, type Owned } from "#agent/journal/journal.ts";
import type { Plan, Removal, Rewrite, FoundFile } from "../delivery.ts";
import type { Document, Desired } from "../mount.ts";
import { union, ownedBefore, put, release, remove, restore, holds } from "./threeway.ts";
import type { FileIdentity } from "#agent/files/atomic-write.ts";
import { rivalsIn } from "./rivals.ts";

export type Present =
  | Readonly<{ kind: "absent"; identity: FileIdentity; document: NodeDocument }>
  | Readonly<{
      kind: "file";
      identity: FileIdentity;
      bytes: Buffer;
      mode: number;
      document: NodeDocument;
      /** Why the kubelet ignores the current file; absent if the kubelet reads it. */
      invalid?: string | undefined;
      /** Distinguishes these bytes from others. */
      digest: string;
    }>;

/** See FoundFile.plan. */
function plan(
  present: Present,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
): Plan {
  const planned =
    document.intent === "release"
      ? planRelease(present, journal, document.desired)
      : planPut(present, journal, document.desired, lost && journal === undefined);
  const { changed, file, owned } = planned;
  return {
    ...planned,
    meanwhile: union(owned, journal?.owned ?? nothingOwned),
    excess: changed && !("absent" in file) ? excess(file.bytes) : undefined,
  };
}

type Draft = Omit<Plan, "meanwhile" | "excess">;

/** `again`: a journal was set aside, and the node might have more of our entries than we know. */
function planPut(
  present: Present,
  journal: Journal | undefined,
  desired: Desired,
  again: boolean,
): Draft {
  const isFirst = journal === undefined;
  const result = put(present.document, journal?.owned ?? nothingOwned, desired, isFirst);
  const isSame = !isInvalid(present) && areEquivalent(result.document, present.document);
  const isOpen = isReadableByOthers(present) && hasOurs(result.owned);
  const changed = !isSame || isOpen;
  const before = journal?.before ?? withoutOurs(present, result.owned);
  const written = isSame
    ? previous(present)
    : asFile(result.document, present, journal?.left ?? before);
  const file = hasOurs(result.owned) ? ownerOnly(written) : written;
  const fileMode = modeRecord(file, present, journal);
  const matters = again || changesCredentials(present, result.document, vacated(result.owned));
  return {
    changed,
    matters,
    file,
    owned: result.owned,
    before,
    ...(fileMode && { fileMode }),
  };
}

function planRelease(present: Present, journal: Journal | undefined, desired: Desired): Draft {
  const now = previous(present);
  if (journal === undefined)
    return { changed: false, matters: false, file: now, owned: nothingOwned, before: now };
  const { before, left: fileMode } = journal;
  const { document, owned } = release(present.document, journal.owned, desired);
  return {
    ...restoredTo(present, document, before, fileMode?.was === undefined ? undefined : fileMode),
    ...(fileMode && { fileMode }),
    matters: changesCredentials(present, document),
    owned,
    before,
  };
}

/** See FoundFile.planRemoval. */
function planRemoval(
  present: Present,
  journal: Journal,
  isLeaving: (registry: string) => boolean,
): Removal | undefined {
  if (!journal.owned.entries.some(({ key }) => isLeaving(key))) return undefined;
  const { document, owned } = remove(present.document, journal.owned, isLeaving);
  const changed = !areEquivalent(document, present.document);
  const file = changed
    ? asFile(document, present, journal.left ?? journal.before)
    : previous(present);
  return {
    changed,
    file,
    owned,
    meanwhile: journal.owned,
    excess: changed && !("absent" in file) ? excess(file.bytes) : undefined,
  };
}

/** See FoundFile.planRestore. */
function planRestore(found: Present, { undo, owned, left }: Journal): Rewrite {
  if (undo === undefined) return { changed: false, file: previous(found) };
  const former = documentOf(undo.file);
  const was = "absent" in undo.file || left === undefined ? {} : { was: undo.file.mode };
  const document = restore(found.document, owned, former, undo.owned);
  return restoredTo(found, document, undo.file, left && { ...left, ...was });
}

/** See FoundFile.undone. */
function undone({ undo, owned }: Journal): Owned {
  return undo === undefined ? owned : ownedBefore(owned, undo.owned);
}

/** The present file. */
function previous(found: Present): File {
  return found.kind === "absent" ? { absent: true } : { bytes: found.bytes, mode: found.mode };
}

/**
 * If the document means the same as the former file, the result is exactly the former file (or no
 * file). If the meanings differ, the result is the document.
 */
function restoredTo(
  present: Present,
  document: NodeDocument,
  former: File,
  fileMode: Journal["left"],
): Rewrite {
  const exact = areEquivalent(document, documentOf(former));
  const restored = exact ? withMode(former, present) : asFile(document, present, former);
  const isAsLeft = present.kind === "file" && present.mode === fileMode?.mode;
  const file = isAsLeft && fileMode?.was !== undefined ? modeOf(restored, fileMode.was) : restored;
  return { changed: !isUnchanged(present, file), file };
}

/** The document as a file. A new file gets the mode of `former`. */
function asFile(
  document: NodeDocument,
  present: Present,
  former: File | NonNullable<Journal["left"]>,
): File {
  const like = present.kind === "file" ? present : undefined;
  const bytes = writeDocument(document, like?.bytes);
  // 0600: a new file contains passwords, and only the kubelet (root) reads it.
  return withMode({ bytes, mode: "absent" in former ? 0o600 : former.mode }, present);
}

const readableByOthers = 0o077;

/** Whether other users can access the file. Such a file must not contain our credentials. */
function isReadableByOthers(present: Present): boolean {
  return present.kind === "file" && (present.mode & readableByOthers) !== 0;
}

function hasOurs({ entries, rest }: Owned): boolean {
  return rest.length > 0 || entries.some(({ vacant }) => !vacant);
}

function modeOf(file: File, mode: number): File {
  return "absent" in file ? file : { ...file, mode };
}

function ownerOnly(file: File): File {
  return "absent" in file ? file : modeOf(file, file.mode & ~readableByOthers);
}

/** The record of the file mode. `was`: the replaced mode, until another program sets a new mode. */
function modeRecord(file: File, present: Present, journal: Journal | undefined): Journal["left"] {
  if ("absent" in file) return undefined;
  const { mode } = file;
  if (present.kind === "absent") return { mode };
  const before = journal?.left;
  const was = present.mode === mode ? before?.mode === mode && before.was : present.mode;
  return typeof was === "number" ? { mode, was } : { mode };
}

/** Keeps the mode of an existing file, which another program might have set. */
function withMode(file: File, present: Present): File {
  if (present.kind === "absent" || "absent" in file) return file;
  return { bytes: file.bytes, mode: present.mode };
}

/** See FoundFile.isUnexplained. Only entries from the original are explained. */
function isUnexplained(found: Present, { desired }: Document): boolean {
  const isOriginal = ([key, value]: readonly [string, unknown]) => {
    const desiredEntry = desired.entries.get(key);
    return desiredEntry?.original === true && digest(desiredEntry.value) === digest(value);
  };
  const { auths, rest } = found.document;
  return isInvalid(found) || ![...auths].every(isOriginal) || rest.size > 0;
}

function isUnchanged(present: Present, file: File): boolean {
  if (present.kind === "absent" || "absent" in file)
    return present.kind === "absent" && "absent" in file;
  return present.bytes.equals(file.bytes) && present.mode === file.mode;
}

/**
 * Whether the kubelet must read the new file to get the right credentials. `vacatedKeys`: keys
 * of `present` to ignore, because the credential provider serves their registries.
 */
function changesCredentials(
  present: Present,
  document: NodeDocument,
  vacatedKeys: ReadonlySet<string> = new Set(),
): boolean {
  const { auths, ...rest } = isInvalid(present) ? emptyDocument : present.document;
  const remaining = [...auths].filter(([key]) => !vacatedKeys.has(key));
  return !giveTheSame({ ...rest, auths: new Map(remaining) }, document);
}

function vacated({ entries }: Owned): ReadonlySet<string> {
  return new Set(entries.filter(({ vacant }) => vacant).map(({ key }) => key));
}

function isInvalid(present: Present): boolean {
  return present.kind === "file" && present.invalid !== undefined;
}

function documentOf(file: File): NodeDocument {
  if ("absent" in file) return emptyDocument;
  const reading = readDocument(file.bytes);
  return reading.kind === "document" ? reading.document : emptyDocument;
}

/** The file before our first change, as far as we can tell without a journal. */
function withoutOurs(present: Present, owned: Owned): File {
  const { document } = release(present.document, owned, { entries: new Map(), rest: new Map() });
  if (areEquivalent(document, present.document)) return previous(present);
  return areEquivalent(document, emptyDocument)
    ? { absent: true }
    : asFile(document, present, previous(present));
}

/** config.json as found, with all plans that we can make for it. */
export function foundOf(file: Present): FoundFile {
  const { kind, identity } = file;
  return {
    kind,
    identity,
    ...(file.kind === "file" ? { digest: file.digest, invalid: file.invalid } : { digest: "" }),
    now: previous(file),
    plan: (journal, document, lost) => plan(file, journal, document, lost),
    planRemoval: (journal, isLeaving) => planRemoval(file, journal, isLeaving),
    planRestore: (journal) => planRestore(file, journal),
    undone,
    holds: (owned) => holds(file.document, owned),
    rivals: (owned) => rivalsIn(file.document, owned),
    isUnexplained: (document) => isUnexplained(file, document),
  };
}
