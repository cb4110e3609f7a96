/** What config.json is to become: pure, from the file, the journal and the mounted Secret. */
import { emptyDocument, giveTheSame, meanTheSame, type NodeDocument, readDocument, writeDocument } from "./document.ts";
import type { Journal, PreviousFile } from "./journal.ts";
import type { Mounted } from "./mounted.ts";
import type { NodeFile } from "./nodefile.ts";
import { nothingOwned, type Owned, put, release, restore, type Wanted } from "./threeway.ts";

export type Found = Extract<NodeFile, { kind: "absent" | "file" }>;
export type Document = Extract<Mounted, { kind: "document" }>;

/** As bytes, not as text: V8's heap is small. */
export type File = Readonly<{ absent: true }> | Readonly<{ bytes: Buffer; mode: number; uid: number; gid: number }>;

export type Plan = Readonly<{
  /** Whether the file has to be written (or removed). */
  changed: boolean;
  /** Whether the kubelet will find other credentials than it could find before. */
  matters: boolean;
  file: File;
  owned: Owned;
  /** The file before us, to be kept in the journal. */
  before: PreviousFile;
}>;

/** Applies or, if the document holds nothing additional, releases. `lost`: an unreadable journal was set aside. */
export function plan(found: Found, journal: Journal | undefined, document: Document, lost: boolean): Plan {
  const known = plans.get(found);
  if (known?.journal === journal && known?.document === document && known.lost === lost) return known.planned;
  const planned = planAnew(found, journal, document, lost);
  plans.set(found, { journal, document, lost, planned });
  return planned;
}

/** The last plan for a file as it was found: one look asks twice, and a plan may hold 10 MiB. */
const plans = new WeakMap<
  Found,
  Readonly<{ journal: Journal | undefined; document: Document; lost: boolean; planned: Plan }>
>();

function planAnew(found: Found, journal: Journal | undefined, document: Document, lost: boolean): Plan {
  if (document.release) return planRelease(found, journal, document.wanted);
  const result = put(found.document, journal?.owned ?? nothingOwned, document.wanted, lost);
  const changed = healed(found) || !meanTheSame(result.document, found.document);
  const before = journal?.before ?? (lost ? withoutOurs(found, result.owned) : previous(found));
  const file = changed ? asFile(result.document, found, before) : present(found);
  return { changed, matters: lost || mattering(found, result.document), file, owned: result.owned, before };
}

function planRelease(found: Found, journal: Journal | undefined, wanted: Wanted): Plan {
  if (journal === undefined) {
    return { changed: false, matters: false, file: present(found), owned: nothingOwned, before: previous(found) };
  }
  const result = release(found.document, journal.owned, wanted);
  const before = { file: journal.before, document: documentOf(journal.before) };
  return { ...back(found, result.document, before), owned: result.owned, before: journal.before };
}

/** Puts back what the change under way replaced. Without a record of it the file stays as it is. */
export function planRestore(found: Found, { undo, owned, before }: Journal): Plan {
  if (undo === undefined) return { changed: false, matters: false, file: present(found), owned, before };
  const former = { file: undo.file, document: documentOf(undo.file) };
  const document = restore(found.document, owned, former.document, undo.owned);
  return { ...back(found, document, former), owned: undo.owned, before };
}

/** What the file is now, as it is kept in the journal. */
export function previous(found: Found): PreviousFile {
  return kept(present(found));
}

function present(found: Found): File {
  if (found.kind === "absent") return { absent: true };
  return { bytes: found.bytes, mode: found.mode, uid: found.uid, gid: found.gid };
}

function kept(file: File): PreviousFile {
  return "absent" in file ? file : { ...file, bytes: file.bytes.toString("base64") };
}

function brought(file: PreviousFile): File {
  return "absent" in file ? file : { ...file, bytes: Buffer.from(file.bytes, "base64") };
}

/** Exactly the former file where the document means the same, else the document with the former file's mode. */
function back(
  found: Found,
  document: NodeDocument,
  former: Readonly<{ file: PreviousFile; document: NodeDocument }>,
): Omit<Plan, "owned" | "before"> {
  const exact = meanTheSame(document, former.document);
  const file = exact ? brought(former.file) : asFile(document, found, former.file);
  return { changed: !isNow(found, file), matters: mattering(found, document), file };
}

function asFile(document: NodeDocument, found: Found, former: PreviousFile): File {
  const like = found.kind === "file" ? found : undefined;
  const bytes = writeDocument(document, like?.bytes);
  if (!("absent" in former)) return { ...former, bytes };
  // 0600: a new file holds passwords, and only the kubelet (root) reads it.
  return { bytes, mode: like?.mode ?? 0o600, uid: like?.uid ?? 0, gid: like?.gid ?? 0 };
}

function isNow(found: Found, file: File): boolean {
  if (found.kind === "absent" || "absent" in file) return found.kind === "absent" && "absent" in file;
  return found.bytes.equals(file.bytes) && found.mode === file.mode;
}

function mattering(found: Found, document: NodeDocument): boolean {
  return !giveTheSame(healed(found) ? emptyDocument : found.document, document);
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
  return meanTheSame(document, emptyDocument) ? { absent: true } : kept(asFile(document, found, previous(found)));
}
