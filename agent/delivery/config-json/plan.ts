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
import type { Plan, Rewrite, FoundFile } from "../delivery.ts";
import type { Document, Desired } from "../mount.ts";
import { union, ownedBefore, put, release, restore, holds } from "./threeway.ts";
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
  found: Present,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
): Plan {
  const planned =
    document.intent === "release"
      ? planRelease(found, journal, document.desired)
      : planPut(found, journal, document.desired, lost && journal === undefined);
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
  found: Present,
  journal: Journal | undefined,
  desired: Desired,
  again: boolean,
): Draft {
  const isFirst = journal === undefined;
  const result = put(found.document, journal?.owned ?? nothingOwned, desired, isFirst);
  const isSame = !isInvalid(found) && areEquivalent(result.document, found.document);
  const isOpen = isReadableByOthers(found) && hasOurs(result.owned);
  const changed = !isSame || isOpen;
  const before = journal?.before ?? withoutOurs(found, result.owned);
  const written = isSame
    ? previous(found)
    : asFile(result.document, found, journal?.left ?? before);
  const file = hasOurs(result.owned) ? ownerOnly(written) : written;
  const left = modeRecord(file, found, journal);
  const matters = again || changesCredentials(found, result.document, vacated(result.owned));
  return { changed, matters, file, owned: result.owned, before, ...(left && { left }) };
}

function planRelease(found: Present, journal: Journal | undefined, desired: Desired): Draft {
  const now = previous(found);
  if (journal === undefined)
    return { changed: false, matters: false, file: now, owned: nothingOwned, before: now };
  const { before, left } = journal;
  const { document, owned } = release(found.document, journal.owned, desired);
  return {
    ...restoredTo(found, document, before, left?.was === undefined ? undefined : left),
    ...(left && { left }),
    matters: changesCredentials(found, document),
    owned,
    before,
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
  found: Present,
  document: NodeDocument,
  former: File,
  left: Journal["left"],
): Rewrite {
  const exact = areEquivalent(document, documentOf(former));
  const kept = exact ? withMode(former, found) : asFile(document, found, former);
  const isAsLeft = found.kind === "file" && found.mode === left?.mode;
  const file = isAsLeft && left?.was !== undefined ? modeOf(kept, left.was) : kept;
  return { changed: !isUnchanged(found, file), file };
}

/** The document as a file. A new file gets the mode of `former`. */
function asFile(
  document: NodeDocument,
  found: Present,
  former: File | NonNullable<Journal["left"]>,
): File {
  const like = found.kind === "file" ? found : undefined;
  const bytes = writeDocument(document, like?.bytes);
  // 0600: a new file contains passwords, and only the kubelet (root) reads it.
  return withMode({ bytes, mode: "absent" in former ? 0o600 : former.mode }, found);
}

const readableByOthers = 0o077;

/** Whether other users can access the file. Such a file must not contain our credentials. */
function isReadableByOthers(found: Present): boolean {
  return found.kind === "file" && (found.mode & readableByOthers) !== 0;
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
function modeRecord(file: File, found: Present, journal: Journal | undefined): Journal["left"] {
  if ("absent" in file) return undefined;
  const { mode } = file;
  if (found.kind === "absent") return { mode };
  const before = journal?.left;
  const was = found.mode === mode ? before?.mode === mode && before.was : found.mode;
  return typeof was === "number" ? { mode, was } : { mode };
}

/** Keeps the mode of an existing file, which another program might have set. */
function withMode(file: File, found: Present): File {
  if (found.kind === "absent" || "absent" in file) return file;
  return { bytes: file.bytes, mode: found.mode };
}

/** See FoundFile.isUnexplained. Only entries from the original are explained. */
function isUnexplained(found: Present, { desired }: Document): boolean {
  const isOriginal = ([key, value]: readonly [string, unknown]) => {
    const known = desired.entries.get(key);
    return known?.original === true && digest(known.value) === digest(value);
  };
  const { auths, rest } = found.document;
  return isInvalid(found) || ![...auths].every(isOriginal) || rest.size > 0;
}

function isUnchanged(found: Present, file: File): boolean {
  if (found.kind === "absent" || "absent" in file)
    return found.kind === "absent" && "absent" in file;
  return found.bytes.equals(file.bytes) && found.mode === file.mode;
}

/**
 * Whether the kubelet must read the new file to get the right credentials. `left`: keys of `found`
 * to ignore, because the credential provider serves their registries.
 */
function changesCredentials(
  found: Present,
  document: NodeDocument,
  left: ReadonlySet<string> = new Set(),
): boolean {
  const { auths, ...rest } = isInvalid(found) ? emptyDocument : found.document;
  const remaining = [...auths].filter(([key]) => !left.has(key));
  return !giveTheSame({ ...rest, auths: new Map(remaining) }, document);
}

function vacated({ entries }: Owned): ReadonlySet<string> {
  return new Set(entries.filter(({ vacant }) => vacant).map(({ key }) => key));
}

function isInvalid(found: Present): boolean {
  return found.kind === "file" && found.invalid !== undefined;
}

function documentOf(file: File): NodeDocument {
  if ("absent" in file) return emptyDocument;
  const reading = readDocument(file.bytes);
  return reading.kind === "document" ? reading.document : emptyDocument;
}

/** The file before our first change, as far as we can tell without a journal. */
function withoutOurs(found: Present, owned: Owned): File {
  const { document } = release(found.document, owned, { entries: new Map(), rest: new Map() });
  if (areEquivalent(document, found.document)) return previous(found);
  return areEquivalent(document, emptyDocument)
    ? { absent: true }
    : asFile(document, found, previous(found));
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
    planRestore: (journal) => planRestore(file, journal),
    undone,
    holds: (owned) => holds(file.document, owned),
    rivals: (owned) => rivalsIn(file.document, owned),
    isUnexplained: (document) => isUnexplained(file, document),
  };
}
