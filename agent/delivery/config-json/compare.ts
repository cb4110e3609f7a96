/** Compares documents and values by their meaning. */
import { createHash } from "node:crypto";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { type NodeDocument, credentialOf, isObject, type RawJson } from "./document.ts";

/**
 * Whether both documents mean the same. White space and the order of keys do not count, and an
 * empty `auths` equals a missing one.
 */
export function areEquivalent(document: NodeDocument, other: NodeDocument): boolean {
  return haveTheSame(document.auths, other.auths) && haveTheSame(document.rest, other.rest);
}

/**
 * Whether the kubelet takes the same credentials from both documents. If so, a running kubelet has
 * nothing to reread.
 */
export function giveTheSame(document: NodeDocument, other: NodeDocument): boolean {
  return haveTheSame(document.auths, other.auths, credentialOf);
}

type ComparedValues = ReadonlyMap<string, RawJson>;

/** Compares the values one by one, because one text of all values would be as large as the file. */
function haveTheSame(
  values: ComparedValues,
  other: ComparedValues,
  of: (value: RawJson) => RawJson = (value) => value,
): boolean {
  if (values.size !== other.size) return false;
  return [...values].every(([key, value]) => {
    const otherValue = other.get(key);
    return value === otherValue || (other.has(key) && stable(of(value)) === stable(of(otherValue)));
  });
}

/** A digest that makes one value comparable and reveals nothing about it. */
export function digest(value: RawJson): string {
  const cached = isObject(value) ? digests.get(value) : undefined;
  if (cached !== undefined) return cached;
  const hash = createHash("sha256").update(stable(value)).digest("base64url");
  if (isObject(value)) digests.set(value, hash);
  return hash;
}

/** A cache, because a merge needs the digest of each of up to 1,000 entries several times. */
const digests = new WeakMap<object, string>();

/** Keys of `auths` that serve the same images as `registry`. */
export function aliases(document: NodeDocument, registry: string): readonly string[] {
  return indexOf(document).get(imagesOf(registry)) ?? [];
}

/**
 * Images → keys of a document. Built once per document, because a merge searches this index for
 * each of up to 1,000 entries.
 */
function indexOf(document: NodeDocument): Map<string, string[]> {
  const cached = indexes.get(document);
  if (cached !== undefined) return cached;
  const index = new Map<string, string[]>();
  for (const key of document.auths.keys()) {
    const images = imagesOf(key);
    index.set(images, [...(index.get(images) ?? []), key]);
  }
  indexes.set(document, index);
  return index;
}

const indexes = new WeakMap<NodeDocument, Map<string, string[]>>();

function stable(value: RawJson): string {
  return JSON.stringify(value, (_key, inner: RawJson) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(byKey)) : inner,
  );
}

function byKey([a]: readonly [string, RawJson], [b]: readonly [string, RawJson]): number {
  return a < b ? -1 : Number(a > b);
}
