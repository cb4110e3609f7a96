/** What config.json is to become: pure, from the file, the journal and the mounted Secret. */
import { credentials, emptyDocument, meaning, type NodeDocument, readDocument, writeDocument } from "./document.ts";
import type { Journal, PreviousFile } from "./journal.ts";
import type { Mounted } from "./mounted.ts";
import type { NodeFile } from "./nodefile.ts";
import { nothingOwned, type Owned, put, release, restore, type Wanted } from "./threeway.ts";

export type Found = Extract<NodeFile, { kind: "absent" | "file" }>;
export type Document = Extract<Mounted, { kind: "document" }>;

export type Plan = Readonly<{
  /** Whether the file has to be written (or removed). */
  changed: boolean;
  /** Whether the kubelet will find other credentials than it could find before. */
  matters: boolean;
  file: PreviousFile;
  owned: Owned;
  /** The file before us, to be kept in the journal. */
  before: PreviousFile;
}>;

/** Applies or, if the document holds nothing additional, releases. `lost`: an unreadable journal was set aside. */
export function plan(found: Found, journal: Journal | undefined, document: Document, lost: boolean): Plan {
  if (document.release) return planRelease(found, journal, document.wanted);
  const result = put(found.document, journal?.owned ?? nothingOwned, document.wanted, lost);
  const changed = healed(found) || meaning(result.document) !== meaning(found.document);
  const before = journal?.before ?? (lost ? withoutOurs(found, result.owned) : previous(found));
  const file = changed ? asFile(result.document, found, before) : previous(found);
  return { changed, matters: lost || mattering(found, result.document), file, owned: result.owned, before };
}

function planRelease(found: Found, journal: Journal | undefined, wanted: Wanted): Plan {
  if (journal === undefined) {
    const now = previous(found);
    return { changed: false, matters: false, file: now, owned: nothingOwned, before: now };
  }
  const result = release(found.document, journal.owned, wanted);
  return { ...back(found, result.document, journal.before), owned: result.owned, before: journal.before };
}

/** Puts back what the change under way replaced. Without a record of it the file stays as it is. */
export function planRestore(found: Found, { undo, owned, before }: Journal): Plan {
  if (undo === undefined) return { changed: false, matters: false, file: previous(found), owned, before };
  const document = restore(found.document, owned, documentOf(undo.file), undo.owned);
  return { ...back(found, document, undo.file), owned: undo.owned, before };
}

/** What the file is now, as it is kept in the journal. */
export function previous(found: Found): PreviousFile {
  if (found.kind === "absent") return { absent: true };
  return { bytes: found.bytes.toString("base64"), mode: found.mode, uid: found.uid, gid: found.gid };
}

/** Bytes of the file. */
export function sizeOf(file: PreviousFile): number {
  return "absent" in file ? 0 : Buffer.byteLength(file.bytes, "base64");
}

/** Exactly the former file where the document means the same, else the document with the former file's mode. */
function back(found: Found, document: NodeDocument, former: PreviousFile): Omit<Plan, "owned" | "before"> {
  const exact = meaning(document) === meaning(documentOf(former));
  const file = exact ? former : asFile(document, found, former);
  return { changed: !isNow(found, file), matters: mattering(found, document), file };
}

function asFile(document: NodeDocument, found: Found, former: PreviousFile): PreviousFile {
  const like = found.kind === "file" ? found : undefined;
  const bytes = Buffer.from(writeDocument(document, like?.bytes)).toString("base64");
  if (!("absent" in former)) return { ...former, bytes };
  // 0600: a new file holds passwords, and only the kubelet (root) reads it.
  return { bytes, mode: like?.mode ?? 0o600, uid: like?.uid ?? 0, gid: like?.gid ?? 0 };
}

function isNow(found: Found, file: PreviousFile): boolean {
  const now = previous(found);
  if ("absent" in now || "absent" in file) return "absent" in now && "absent" in file;
  return now.bytes === file.bytes && now.mode === file.mode;
}

function mattering(found: Found, document: NodeDocument): boolean {
  return credentials(healed(found) ? emptyDocument : found.document) !== credentials(document);
}

function healed(found: Found): boolean {
  return found.kind === "file" && found.healed !== undefined;
}

function documentOf(file: PreviousFile): NodeDocument {
  if ("absent" in file) return emptyDocument;
  const reading = readDocument(Buffer.from(file.bytes, "base64"));
  return reading.kind === "document" ? reading.document : emptyDocument;
}

function withoutOurs(found: Found, owned: Owned): PreviousFile {
  const { document } = release(found.document, owned, { entries: new Map(), rest: new Map() });
  return meaning(document) === meaning(emptyDocument) ? { absent: true } : asFile(document, found, previous(found));
}
