/** What config.json is to become: pure, from the file, the journal and the mounted Secret. */
import {
  digest,
  emptyDocument,
  giveTheSame,
  meanTheSame,
  type NodeDocument,
  readDocument,
  writeDocument,
} from "./document.ts";
import type { Journal, PreviousFile } from "./journal.ts";
import type { Mounted } from "./mounted.ts";
import type { NodeFile } from "./nodefile.ts";
import { givesBack } from "./revision.ts";
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

/** Applies or, if that is the intent, releases. `lost`: an unreadable journal was set aside. */
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
  if (givesBack(document)) return planRelease(found, journal, document.wanted);
  const anew = lost && journal === undefined;
  const result = put(found.document, journal?.owned ?? nothingOwned, document.wanted, anew);
  const changed = healed(found) || !meanTheSame(result.document, found.document);
  const before = journal?.before ?? (anew ? withoutOurs(found, result.owned) : previous(found));
  const file = changed ? asFile(result.document, found, journal?.left ?? before) : present(found);
  return { changed, matters: anew || mattering(found, result.document), file, owned: result.owned, before };
}

function planRelease(found: Found, journal: Journal | undefined, wanted: Wanted): Plan {
  if (journal === undefined) {
    return { changed: false, matters: false, file: present(found), owned: nothingOwned, before: previous(found) };
  }
  const result = release(found.document, journal.owned, wanted);
  return { ...back(found, result.document, journal.before), owned: result.owned, before: journal.before };
}

/** Puts back what the change under way replaced. Without a record of it the file stays as it is. */
export function planRestore(found: Found, { undo, owned, before }: Journal): Plan {
  if (undo === undefined) return { changed: false, matters: false, file: present(found), owned, before };
  const document = restore(found.document, owned, documentOf(undo.file), undo.owned);
  return { ...back(found, document, undo.file), owned: undo.owned, before };
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

/**
 * Exactly the former bytes where the document means the same, else the document; or no file, where
 * there was none.
 */
function back(found: Found, document: NodeDocument, former: PreviousFile): Omit<Plan, "owned" | "before"> {
  const exact = meanTheSame(document, documentOf(former));
  const file = exact ? withMode(brought(former), found) : asFile(document, found, former);
  return { changed: !isNow(found, file), matters: mattering(found, document), file };
}

/** A file that has to be made anew gets mode and owner of the `former` one. */
function asFile(document: NodeDocument, found: Found, former: PreviousFile | Owner): File {
  const like = found.kind === "file" ? found : undefined;
  const bytes = writeDocument(document, like?.bytes);
  // 0600: a new file holds passwords, and only the kubelet (root) reads it.
  const { mode, uid, gid } = "absent" in former ? { mode: 0o600, uid: 0, gid: 0 } : former;
  return withMode({ bytes, mode, uid, gid }, found);
}

/**
 * Mode and owner of a file that is there are whoever set them last, before us or while we are in
 * force: they are never ours to set.
 */
function withMode(file: File, found: Found): File {
  if (found.kind === "absent" || "absent" in file) return file;
  return { bytes: file.bytes, mode: found.mode, uid: found.uid, gid: found.gid };
}

/** Mode and owner of a file, without what is in it. */
export type Owner = NonNullable<Journal["left"]>;

/** Mode and owner in which the plan leaves the file. */
export function leftBy({ file }: Plan): Owner | undefined {
  return "absent" in file ? undefined : { mode: file.mode, uid: file.uid, gid: file.gid };
}

/**
 * Whether config.json may hold something of ours that no journal tells of: whatever is neither
 * absent nor the original's. To be asked only under a release after a lost journal.
 */
export function isUnexplained(found: Found, { wanted }: Document): boolean {
  const isOriginal = ([key, value]: readonly [string, unknown]) => {
    const known = wanted.entries.get(key);
    return known?.original === true && digest(known.value) === digest(value);
  };
  const { auths, rest } = found.document;
  return healed(found) || ![...auths].every(isOriginal) || rest.size > 0;
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
