/**
 * config.json as it lies on the node: read with the kubelet's eyes, kept with everybody's entries
 * as they are.
 *
 * The kubelet drops a whole file for one bad entry and says nothing. So an entry that would void
 * the file is left out of what we go on from (its bytes lie beside the journal and come back on
 * removal); otherwise ours would never be read.
 */
import { fold, notUtf8 } from "#pullsecret/json/json.ts";
import { formatPath, quote } from "#pullsecret/problems/keypath.ts";
import { treeOf } from "#pullsecret/kubelet/kubelet.ts";
import { Fault, JsonMembers } from "#pullsecret/json/text.ts";
import { isObject, isReadable, isStringMap, type RawJson, keep, membersOf } from "./value.ts";

export type NodeDocument = Readonly<{
  /** Registry key → the entry as it is in the file. */
  auths: ReadonlyMap<string, RawJson>;
  /** Every other top-level key. */
  rest: ReadonlyMap<string, RawJson>;
}>;

/**
 * `odd` means that the kubelet may read something which we could not keep; such a file is not
 * touched. `healed` says what would have made the kubelet drop the file.
 */
export type Reading =
  | Readonly<{ kind: "document"; document: NodeDocument; healed?: string }>
  | Readonly<{ kind: "odd"; why: string }>;

export const emptyDocument: NodeDocument = { auths: new Map(), rest: new Map() };

/**
 * Reads config.json. Never throws; the reasons name keys of the file, redacted (a key may hold a
 * password, as in `https://user:password@host`), and never a value.
 */
export function readDocument(bytes: Uint8Array): Reading {
  const tree = treeOf(bytes);
  if (tree instanceof Fault)
    return { kind: "document", document: emptyDocument, healed: "it is not JSON" };
  if (tree === null) return { kind: "document", document: emptyDocument };
  if (!(tree instanceof JsonMembers))
    return { kind: "document", document: emptyDocument, healed: "it is not a JSON object" };
  const { value, faults } = keep(tree);
  // What two readers would understand differently, so that writing it back could lose something.
  const [fault = notUtf8(bytes)] = faults;
  if (fault !== undefined) return { kind: "odd", why: `${fault.path}: ${fault.kind}` };
  const rest = new Map(membersOf(value));
  // Go's decoder takes AUTHS, Auths and a long s for auths, and merges them: another spelling
  // beside ours would win or lose by order.
  const other = [...rest.keys()].find((key) => key !== "auths" && fold(key) === "auths");
  if (other !== undefined)
    return { kind: "odd", why: `the key ${quote(other)} should be spelled "auths"` };
  const found = rest.get("auths") ?? {};
  rest.delete("auths");
  const healed: string[] = [];
  for (const [key, value] of rest) {
    if (fold(key) !== "httpheaders" || isStringMap(value)) continue;
    rest.delete(key);
    healed.push(key);
  }
  const auths = new Map<string, RawJson>();
  if (!isObject(found)) healed.push("auths");
  else
    for (const [key, value] of Object.entries(found)) {
      if (isReadable(value)) auths.set(key, value);
      else healed.push(formatPath(["auths", key]));
    }
  const document = { auths, rest };
  if (healed.length === 0) return { kind: "document", document };
  return {
    kind: "document",
    document,
    healed: `it would drop the file for ${healed.slice(0, 3).join(", ")}`,
  };
}

/** The document as bytes: compact, or indented as `like` was; ends with a newline if that did. */
export function writeDocument(document: NodeDocument, like?: Uint8Array): Buffer {
  const head = Buffer.from(like?.subarray(0, 256) ?? []).toString("latin1");
  const indent = /^\s*\{\r?\n([ \t]{1,8})"/.exec(head)?.[1];
  const top = Object.fromEntries([["auths", Object.fromEntries(document.auths)], ...document.rest]);
  return Buffer.from(JSON.stringify(top, undefined, indent) + (like?.at(-1) === 0x0a ? "\n" : ""));
}
