/** Compares documents and values by their meaning. */
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

/** Whether both values mean the same. The order of keys does not count. */
export function isSameValue(value: RawJson, other: RawJson): boolean {
  return value === other || stable(value) === stable(other);
}

function stable(value: RawJson): string {
  return JSON.stringify(value, (_key, inner: RawJson) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(byKey)) : inner,
  );
}

function byKey([a]: readonly [string, RawJson], [b]: readonly [string, RawJson]): number {
  return a < b ? -1 : Number(a > b);
}
