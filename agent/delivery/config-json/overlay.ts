/**
 * Makes config.json: the file of the other programs, with our content over it. Learns what other
 * programs changed in it. There is no other way to make the file: an update, a drift, a removal, a
 * rollback and a withdrawal change theirs or ours, and write the overlay. Pure.
 */
import { imagesOf } from "#pullsecret/registry/key.ts";
import { type Content, type File, isNothing } from "#agent/journal/journal.ts";
import { areEquivalent, isSameValue } from "./compare.ts";
import {
  emptyDocument,
  type NodeDocument,
  type RawJson,
  readDocument,
  valueOf,
  withoutInvalid,
  writeDocument,
} from "./document.ts";

const ownerOnly = 0o700;

/**
 * config.json: theirs, without the entries that ours replaces, and without everything because of
 * which the kubelet would ignore the file. Without ours it is theirs, byte for byte. Only the owner
 * can read a file with our entries.
 */
export function overlay(theirs: File, ours: Content): File {
  if (isNothing(ours)) return theirs;
  const cached = overlays.get(ours);
  if (cached?.theirs === theirs) return cached.file;
  const file = put(theirs, ours);
  overlays.set(ours, { theirs, file });
  return file;
}

/** A cache: most rounds ask for the overlay of the same journal. */
const overlays = new WeakMap<Content, Readonly<{ theirs: File; file: File }>>();

function put(theirs: File, ours: Content): File {
  const before = documentIn(theirs);
  const after = laidOver(before ?? emptyDocument, ours);
  const { mode } = "absent" in theirs ? { mode: 0o600 } : theirs;
  if (before !== undefined && areEquivalent(before, after))
    return "absent" in theirs || !hasEntries(ours) ? theirs : { ...theirs, mode: mode & ownerOnly };
  const bytes = writeDocument(after, "absent" in theirs ? undefined : theirs.bytes);
  return { bytes, mode: hasEntries(ours) ? mode & ownerOnly : mode };
}

function laidOver(theirs: NodeDocument, ours: Content): NodeDocument {
  const readable = withoutInvalid(theirs);
  const replaced = new Set(
    ours.entries.flatMap(({ key, place }) => (place === "beside" ? [] : [imagesOf(key)])),
  );
  const values = new Map(
    ours.entries.flatMap(({ key, raw, place }) =>
      place === "file" || place === "both" ? [[key, valueOf(raw)] as const] : [],
    ),
  );
  // An existing key is replaced in place, so that the order of other programs' entries stays.
  const kept = [...readable.auths].filter(
    ([key]) => values.has(key) || !replaced.has(imagesOf(key)),
  );
  return {
    auths: new Map([...kept, ...values]),
    rest: new Map([
      ...readable.rest,
      ...ours.rest.map(({ key, raw }) => [key, valueOf(raw)] as const),
    ]),
  };
}

/** Whether the file contains something of ours. */
function hasEntries({ entries, rest }: Content): boolean {
  return rest.length > 0 || entries.some(({ place }) => place === "file" || place === "both");
}

export type IsOurs = (key: string, value: RawJson) => boolean;

/**
 * Theirs after the changes that other programs made to the file, which was the overlay of `ours`. A
 * value that we published stays ours. A key that disappeared disappears from theirs, if the value
 * that disappeared was theirs. An unreadable file changes no entry, unless nothing of ours is over
 * it: then it is theirs as it is.
 */
export function learn(theirs: File, ours: Content, present: File, isOurs: IsOurs): File {
  const base = overlay(theirs, ours);
  if (isSameFile(base, present)) return theirs;
  if ("absent" in present) return "absent" in theirs ? theirs : present;
  const is = documentIn(present);
  if (is === undefined) return isNothing(ours) ? present : theirs;
  const [was, old] = [documentIn(base) ?? emptyDocument, documentIn(theirs) ?? emptyDocument];
  const before = "absent" in base ? undefined : base.mode;
  if (areEquivalent(was, is) && before === present.mode) return theirs;
  const document = {
    auths: merge(was.auths, is.auths, old.auths, isOurs),
    rest: merge(was.rest, is.rest, old.rest, () => false),
  };
  if ("absent" in theirs) {
    if (areEquivalent(document, emptyDocument) && !("absent" in base)) return theirs;
    return { bytes: bytesOf(document, is, present.bytes), mode: present.mode };
  }
  const mode = present.mode === before ? theirs.mode : present.mode;
  const isSame = areEquivalent(document, old);
  if (isSame && mode === theirs.mode) return theirs;
  return { bytes: isSame ? theirs.bytes : bytesOf(document, is, present.bytes), mode };
}

function bytesOf(document: NodeDocument, present: NodeDocument, bytes: Buffer): Buffer {
  return areEquivalent(document, present) ? bytes : writeDocument(document, bytes);
}

type Values = ReadonlyMap<string, RawJson>;

/** Repeats on `into` what changed between `from` and `to`, except values of ours. */
function merge(from: Values, to: Values, into: Values, isOurs: IsOurs): Values {
  const next = new Map(into);
  for (const key of new Set([...from.keys(), ...to.keys()])) {
    const [before, after] = [from.get(key), to.get(key)];
    if (from.has(key) === to.has(key) && isSameValue(before, after)) continue;
    if (to.has(key)) {
      if (!isOurs(key, after)) next.set(key, after);
    } else if (isSameValue(next.get(key), before)) next.delete(key);
  }
  return next;
}

export function isSameFile(file: File, other: File): boolean {
  if (file === other) return true;
  if ("absent" in file || "absent" in other) return "absent" in file && "absent" in other;
  return file.mode === other.mode && file.bytes.equals(other.bytes);
}

/** The document in a file; undefined if no program can read the file. */
export function documentIn(file: File): NodeDocument | undefined {
  if ("absent" in file) return emptyDocument;
  const cached = documents.get(file.bytes);
  if (cached !== undefined) return cached.document;
  const reading = readDocument(file.bytes);
  const document = reading.kind === "document" ? reading.document : undefined;
  documents.set(file.bytes, { document });
  return document;
}

/** A cache: one round reads the same file several times. */
const documents = new WeakMap<Buffer, Readonly<{ document: NodeDocument | undefined }>>();
