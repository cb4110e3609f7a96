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
import type { File, Journal } from "../journal/journal.ts";
import type { Mounted } from "./mounted.ts";
import type { NodeFile } from "./node-file.ts";
import { nothingOwned, type Owned, put, release, restore, type Wanted } from "./threeway.ts";

export type Found = Extract<NodeFile, { kind: "absent" | "file" }>;
export type Document = Extract<Mounted, { kind: "document" }>;

export type Plan = Readonly<{
  /** Whether the file has to be written (or removed). */
  changed: boolean;
  /** Whether the kubelet will find other credentials than it could find before. */
  matters: boolean;
  file: File;
  owned: Owned;
  /** The file before us, to be kept with the journal. */
  before: File;
}>;

/**
 * Whether the node is to be as if we had never been there: a withdrawal, or a halt before anything
 * was ever served.
 */
export function givesBack({ intent, wanted }: Document): boolean {
  return (
    intent === "release" ||
    (intent === "hold" && wanted.entries.size === 0 && wanted.rest.size === 0)
  );
}

/** Applies or, if that is the intent, releases. `lost`: an unreadable journal was set aside. */
export function plan(
  found: Found,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
): Plan {
  if (givesBack(document)) return planRelease(found, journal, document.wanted);
  const anew = lost && journal === undefined;
  const result = put(found.document, journal?.owned ?? nothingOwned, document.wanted, anew);
  const changed = healed(found) || !meanTheSame(result.document, found.document);
  const before = journal?.before ?? (anew ? withoutOurs(found, result.owned) : previous(found));
  const file = changed ? asFile(result.document, found, journal?.left ?? before) : previous(found);
  return {
    changed,
    matters: anew || mattering(found, result.document),
    file,
    owned: result.owned,
    before,
  };
}

function planRelease(found: Found, journal: Journal | undefined, wanted: Wanted): Plan {
  if (journal === undefined) {
    return {
      changed: false,
      matters: false,
      file: previous(found),
      owned: nothingOwned,
      before: previous(found),
    };
  }
  const result = release(found.document, journal.owned, wanted);
  return {
    ...back(found, result.document, journal.before),
    owned: result.owned,
    before: journal.before,
  };
}

/** Puts back what the change under way replaced. Without a record of it the file stays as it is. */
export function planRestore(found: Found, { undo, owned, before }: Journal): Plan {
  if (undo === undefined)
    return { changed: false, matters: false, file: previous(found), owned, before };
  const document = restore(found.document, owned, documentOf(undo.file), undo.owned);
  return { ...back(found, document, undo.file), owned: undo.owned, before };
}

/** The file as it is now. */
export function previous(found: Found): File {
  return found.kind === "absent" ? { absent: true } : { bytes: found.bytes, mode: found.mode };
}

/**
 * Exactly the former bytes where the document means the same, else the document; or no file, where
 * there was none.
 */
function back(found: Found, document: NodeDocument, former: File): Omit<Plan, "owned" | "before"> {
  const exact = meanTheSame(document, documentOf(former));
  const file = exact ? withMode(former, found) : asFile(document, found, former);
  return { changed: !isNow(found, file), matters: mattering(found, document), file };
}

/** A file that has to be made anew gets the mode of the `former` one. */
function asFile(document: NodeDocument, found: Found, former: File | Left): File {
  const like = found.kind === "file" ? found : undefined;
  const bytes = writeDocument(document, like?.bytes);
  // 0600: a new file holds passwords, and only the kubelet (root) reads it.
  return withMode({ bytes, mode: "absent" in former ? 0o600 : former.mode }, found);
}

/**
 * The mode of a file that is there is whoever set it last, before us or while we are in force:
 * never ours to set.
 */
function withMode(file: File, found: Found): File {
  if (found.kind === "absent" || "absent" in file) return file;
  return { bytes: file.bytes, mode: found.mode };
}

type Left = NonNullable<Journal["left"]>;

/** The mode in which the plan leaves the file. */
export function leftBy({ file }: Plan): Left | undefined {
  return "absent" in file ? undefined : { mode: file.mode };
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
  if (found.kind === "absent" || "absent" in file)
    return found.kind === "absent" && "absent" in file;
  return found.bytes.equals(file.bytes) && found.mode === file.mode;
}

function mattering(found: Found, document: NodeDocument): boolean {
  return !giveTheSame(healed(found) ? emptyDocument : found.document, document);
}

function healed(found: Found): boolean {
  return found.kind === "file" && found.healed !== undefined;
}

function documentOf(file: File): NodeDocument {
  if ("absent" in file) return emptyDocument;
  const reading = readDocument(file.bytes);
  return reading.kind === "document" ? reading.document : emptyDocument;
}

function withoutOurs(found: Found, owned: Owned): File {
  const { document } = release(found.document, owned, { entries: new Map(), rest: new Map() });
  return meanTheSame(document, emptyDocument)
    ? { absent: true }
    : asFile(document, found, previous(found));
}
